//! Numbering of a track's packets.

use media::Timestamp;

use super::clock;
use super::header::{HEADER_BYTES, Header, PADDING};
use super::payloads::Payload;

/// Sequence numbers and clock of one track as its listeners receive them.
///
/// Numbers are contiguous for as long as the sequencer lives, so a listener that starts at one of its packets finds no
/// gap.
#[derive(Clone, Copy, Debug)]
pub struct Sequencer {
    ssrc: u32,
    /// Unwrapped number of the next packet.
    next: u64,
    clock_rate: u32,
    /// Wire timestamp at [`Timestamp::ZERO`].
    origin: u32,
}

impl Sequencer {
    /// Creates a sequencer for the sender `ssrc` whose first packet has the number `first` and whose clock shows
    /// `origin` at [`Timestamp::ZERO`]. All three should be random (RFC 3550 §5.1).
    pub const fn new(ssrc: u32, first: u16, origin: u32, clock_rate: u32) -> Self {
        Self {
            ssrc,
            next: first as u64,
            clock_rate,
            origin,
        }
    }

    /// Returns the wire timestamp at `at`.
    pub fn timestamp(&self, at: Timestamp) -> u32 {
        clock::wire_ticks(at, self.clock_rate).wrapping_add(self.origin)
    }

    /// Returns the unwrapped number of the next packet: the upper bits are the roll-over counter of RFC 3711.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Numbers a packet of the frame with this [`timestamp`](Self::timestamp). The payload type is left 0, to be
    /// replaced by each listener's own. If the payload is padded, its padding has to follow it.
    pub fn number(&mut self, payload: &Payload, timestamp: u32) -> [u8; HEADER_BYTES] {
        let sequence = self.next as u16;
        self.next = self.next.wrapping_add(1);
        let header = Header {
            marker: payload.marker,
            payload_type: 0,
            sequence,
            timestamp,
            ssrc: self.ssrc,
        };
        let mut header = header.to_bytes();
        if payload.padding > 0 {
            header[0] |= PADDING;
        }
        header
    }
}

#[cfg(test)]
mod tests {
    use media::Span;

    use super::super::header::Packet;
    use super::*;

    #[test]
    fn sequence_numbers_wrap_and_are_counted_on() {
        let mut sequencer = Sequencer::new(9, 65_535, 0, 90_000);
        let payload = Payload {
            range: 0..1,
            marker: true,
            padding: 0,
        };
        let numbers = [0; 3].map(|_: u8| {
            let header = sequencer.number(&payload, 5);
            let packet = Packet::parse(&header).expect("a header");
            assert!(packet.header.marker && packet.header.ssrc == 9);
            assert_eq!(packet.header.timestamp, 5);
            packet.header.sequence
        });
        assert_eq!(numbers, [65_535, 0, 1]);
        assert_eq!(sequencer.next(), 65_538);
    }

    #[test]
    fn timestamps_wrap() {
        let sequencer = Sequencer::new(9, 0, u32::MAX - 89, 90_000);
        assert_eq!(sequencer.timestamp(Timestamp::from_millis(1)), 0);
        let hours = Timestamp::ZERO + Span::from_samples((1 << 32) + 100, 90_000);
        assert_eq!(sequencer.timestamp(hours), 10);
    }
}
