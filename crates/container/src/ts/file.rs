//! A file of transport stream: packets, as they are.
//!
//! * [`walk`] finds the whole part of one that is written no more.
//! * [`search`] finds the packets that a listener begins with who wants a time.

use media::Span;

use super::packet::{PACKET_BYTES, SYNC};
pub use super::search::PacketSearch;
use crate::walk::{Closed, Piece, Pieces, Walk};

/// Goes through a file of so many bytes. It does not tell how long that lasts.
pub fn walk(file_bytes: u64) -> Walk<Packets> {
    Walk::of(file_bytes)
}

/// A search for a time in a file of so many bytes.
pub fn search(to: Span, file_bytes: u64) -> PacketSearch {
    PacketSearch::new(to, file_bytes)
}

/// See [`walk`].
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
    use crate::Walker;

    #[test]
    fn a_file_ends_with_its_last_whole_packet() {
        let mut packet = [0; PACKET_BYTES];
        packet[0] = SYNC;
        let file = packet.repeat(3_000);
        for (rest, whole) in [(&[][..], 3_000), (&packet[..50], 3_000), (&[0; 400], 3_000)] {
            let file = [&file, rest].concat();
            let mut walk = walk(file.len() as u64);
            while let Some(wanted) = walk.wants() {
                walk.take(&file[wanted.start as usize..wanted.end as usize]);
            }
            assert_eq!(walk.close().bytes, whole * PACKET_BYTES as u64);
        }
    }
}
