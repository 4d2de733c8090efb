//! Files of transport stream: packets, unchanged.
//!
//! * A [`Walk`](crate::Walk) over [`Packets`] finds the whole part of a finished file.
//! * [`PacketSearch`] finds the packets at which a listener begins in order to play from a given time.

use super::packet::{PACKET_BYTES, SYNC};
pub use super::search::PacketSearch;
use crate::walk::{Closed, Piece, Pieces};

/// Packets of a file, which do not state its duration.
#[derive(Debug, Default)]
pub struct Packets;

impl Pieces for Packets {
    fn piece(&mut self, front: &[u8], _at: u64, _left: u64) -> Piece {
        match front.first() {
            Some(&SYNC) => Piece::Whole(PACKET_BYTES as u64),
            _ => Piece::Foreign,
        }
    }

    fn close(&mut self, bytes: u64) -> Closed {
        Closed {
            bytes,
            ..Closed::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Walk;
    use crate::testing::closed;

    #[test]
    fn a_file_ends_with_its_last_whole_packet() {
        let mut packet = [0; PACKET_BYTES];
        packet[0] = SYNC;
        let file = packet.repeat(3_000);
        for rest in [&[][..], &packet[..50], &[0; 400]] {
            let bytes = [&file, rest].concat();
            let closed = closed(Walk::<Packets>::of(bytes.len() as u64), &bytes);
            assert_eq!(closed.bytes, file.len() as u64);
        }
    }
}
