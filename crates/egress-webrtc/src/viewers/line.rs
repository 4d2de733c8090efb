//! One track of one viewer: its position in the stream, and the viewer's numbers for its packets.

use container::rtp::{HEADER_BYTES, PayloadFormat};

use crate::agree::Agreement;

/// Number of a viewer's first packet. It is far below 2^16, so that a viewer that misses its first packets still guesses the
/// roll-over count correctly.
const FIRST: u64 = 1;

/// Position of a line that has none in the stream.
const WAITING: u64 = u64::MAX;

/// One track of one viewer. The line is copied before each send, and restored if nothing was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) format: PayloadFormat,
    payload_type: u8,
    /// Payload type of retransmissions, if they have their own.
    pub(super) rtx: Option<u8>,
    /// The stream's number of the next packet, or [`WAITING`].
    next: u64,
    /// The viewer's number of that packet: its index in the sense of SRTP, never reused for another packet.
    pub(super) own: u64,
    /// The stream's number minus the viewer's, valid since `floor`.
    shift: u64,
    /// The viewer's first number after the line was last moved.
    floor: u64,
    /// Packets sent so far, modulo 2^32, and the bytes of their payloads.
    pub(super) packets: u32,
    pub(super) octets: u32,
}

impl Line {
    pub(super) const fn new(agreed: &Agreement) -> Self {
        Self {
            format: agreed.carries,
            payload_type: agreed.format.payload_type,
            rtx: agreed.format.rtx,
            next: WAITING,
            own: FIRST,
            shift: 0,
            floor: FIRST,
            packets: 0,
            octets: 0,
        }
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.next == WAITING
    }

    /// Returns the stream's number of the next packet.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Continues at another packet of the stream. The viewer sees no gap.
    pub(super) const fn go(&mut self, next: u64) {
        self.next = next;
        self.shift = next.wrapping_sub(self.own);
        self.floor = self.own;
    }

    /// Waits for a position.
    pub(super) const fn wait(&mut self) {
        self.next = WAITING;
    }

    pub(super) const fn advance(&mut self, octets: usize) {
        self.next += 1;
        self.own += 1;
        self.packets = self.packets.wrapping_add(1);
        self.octets = self.octets.wrapping_add(octets as u32);
    }

    /// Returns a packet's header with this viewer's payload type and number.
    pub(super) fn header(&self, plain: &[u8; HEADER_BYTES], own: u64) -> [u8; HEADER_BYTES] {
        let mut header = *plain;
        header[1] |= self.payload_type;
        header[2..4].copy_from_slice(&(own as u16).to_be_bytes());
        header
    }

    /// Returns the viewer's number and the stream's number of the packet that the viewer calls `sequence`. `None` for a packet
    /// that was never sent to this viewer, or that was sent before the line was moved.
    pub(super) const fn sent(&self, sequence: u16) -> Option<(u64, u64)> {
        let back = (self.own as u16).wrapping_sub(sequence) as u64;
        if back == 0 || back > self.own - self.floor {
            return None;
        }
        let own = self.own - back;
        Some((own, own.wrapping_add(self.shift)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agree::testing::agreement;

    #[test]
    fn a_viewers_numbers_are_contiguous_wherever_it_is_moved() {
        let mut line = Line::new(&agreement(PayloadFormat::H264, 96, None));
        assert!(line.is_waiting());
        line.go(70_000);
        for _ in 0..10 {
            line.advance(100);
        }
        assert_eq!((line.next(), line.own), (70_010, 11));
        assert_eq!(line.sent(1), Some((1, 70_000)));
        assert_eq!(line.sent(10), Some((10, 70_009)));
        assert_eq!([11, 0, 65_535].map(|number| line.sent(number)), [None; 3]);
        line.go(90_000);
        assert_eq!((line.own, line.sent(10)), (11, None), "of before");
        line.advance(100);
        assert_eq!(line.sent(11), Some((11, 90_000)));
        assert_eq!((line.packets, line.octets), (11, 1_100));
    }

    #[test]
    fn requests_reach_back_over_the_wrap() {
        let mut line = Line::new(&agreement(PayloadFormat::Opus, 111, None));
        line.go(5);
        for _ in 0..65_540 {
            line.advance(1);
        }
        assert_eq!(line.own, 65_541);
        assert_eq!(line.sent(4), Some((65_540, 65_544)));
        assert_eq!(line.sent(65_535), Some((65_535, 65_539)));
        let header = line.header(&[0x80, 0x80, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8], 65_537);
        assert_eq!(header, [0x80, 0x80 | 111, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
