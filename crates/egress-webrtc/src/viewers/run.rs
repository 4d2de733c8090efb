//! Packets of one send: equal in length, except for the last.

use super::pace::PACKETS_PER_VISIT;

/// Segments of one send: a visit's video packets, and one audio packet. The kernel would take 64, but switches and radios begin
/// to lose packets at bursts of that size.
pub(super) const SEGMENTS_MAX: usize = PACKETS_PER_VISIT + 1;

/// Content of the send buffer so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// Bytes in the buffer.
    pub(super) len: usize,
    /// Bytes of each packet except the last.
    pub(super) segment: usize,
    pub(super) count: usize,
    /// Whether the last packet was shorter, which ends the run.
    is_closed: bool,
}

impl Run {
    /// Whether a packet of `len` bytes may follow in a buffer of `room` bytes. The first always may.
    pub(super) const fn takes(&self, len: usize, room: usize) -> bool {
        self.count == 0
            || !self.is_closed
                && len <= self.segment
                && self.count < SEGMENTS_MAX
                && self.len + len <= room
    }

    pub(super) const fn add(&mut self, len: usize) {
        if self.count == 0 {
            self.segment = len;
        }
        self.is_closed = len < self.segment;
        self.len += len;
        self.count += 1;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_packet_is_the_last() {
        let mut run = Run::default();
        assert!(run.takes(2_000, 1_000), "sealing finds that out");
        run.add(100);
        assert!(run.takes(100, 1_000) && run.takes(1, 1_000));
        assert!(!run.takes(101, 1_000) && !run.takes(100, 199));
        run.add(100);
        run.add(40);
        assert!(!run.takes(40, 1_000));
        assert_eq!((run.len, run.segment, run.count), (240, 100, 3));
        let mut long = Run::default();
        for _ in 0..SEGMENTS_MAX {
            assert!(long.takes(10, 1_000));
            long.add(10);
        }
        assert!(!long.takes(10, 1_000));
    }
}
