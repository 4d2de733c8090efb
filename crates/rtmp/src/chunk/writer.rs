//! Writer of messages as chunks that depend on no earlier chunk.

use bytes::{BufMut, BytesMut};

use super::{EXTENDED, HEADER_BYTES_MAX};
use crate::message::Kind;

/// Fields of a message's first chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Chunk stream, 2 to 65,599.
    pub csid: u32,
    /// Milliseconds modulo 2^32.
    pub timestamp: u32,
    /// Type of the message.
    pub kind: Kind,
    /// Message stream.
    pub stream_id: u32,
}

/// Appends a message to `output`; see [`write_parts`].
pub fn write(header: &Header, payload: &[u8], chunk_size: u32, output: &mut BytesMut) {
    let chunks = payload.len() / chunk_size.max(1) as usize;
    output.reserve(payload.len() + HEADER_BYTES_MAX + chunks * 7);
    write_parts(header, &[payload], chunk_size, &mut |bytes| {
        output.put_slice(bytes);
    });
}

/// Passes a message, whose payload is in `parts`, to `emit` in chunks of up to `chunk_size` bytes of payload.
///
/// The first chunk has a full header (format 0) and the others none (format 3), so a receiver understands the
/// bytes whatever it was sent before: many receivers may share them, and one may begin at any message. A time
/// of 0xFFFFFF ms or more is repeated in each chunk, as receivers expect.
///
/// The payload must be shorter than 16 MiB, the most that the length field can express.
pub fn write_parts(
    header: &Header,
    parts: &[&[u8]],
    chunk_size: u32,
    emit: &mut impl FnMut(&[u8]),
) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    debug_assert!((2..=65_599).contains(&header.csid));
    debug_assert!(length < 1 << 24);
    let chunk_size = chunk_size.max(1) as usize;

    let mut first = HeaderBytes::new(0, header.csid);
    first.put(&header.timestamp.min(EXTENDED).to_be_bytes()[1..]);
    first.put(&(length as u32).to_be_bytes()[1..]);
    first.put(&[header.kind.to_wire()]);
    first.put(&header.stream_id.to_le_bytes());
    let mut next = HeaderBytes::new(3, header.csid);
    if header.timestamp >= EXTENDED {
        first.put(&header.timestamp.to_be_bytes());
        next.put(&header.timestamp.to_be_bytes());
    }

    emit(first.as_slice());
    let mut room = chunk_size;
    for mut part in parts.iter().copied() {
        while !part.is_empty() {
            if room == 0 {
                emit(next.as_slice());
                room = chunk_size;
            }
            let (now, later) = part.split_at(room.min(part.len()));
            emit(now);
            room -= now.len();
            part = later;
        }
    }
}

/// A header being written.
struct HeaderBytes {
    bytes: [u8; HEADER_BYTES_MAX],
    length: usize,
}

impl HeaderBytes {
    /// Creates a basic header (§5.3.1.1).
    fn new(format: u8, csid: u32) -> Self {
        let format = format << 6;
        let mut header = Self {
            bytes: [0; HEADER_BYTES_MAX],
            length: 0,
        };
        match csid {
            0..64 => header.put(&[format | csid as u8]),
            64..320 => header.put(&[format, (csid - 64) as u8]),
            _ => {
                let [low, high, ..] = (csid - 64).to_le_bytes();
                header.put(&[format | 1, low, high]);
            }
        }
        header
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_does_not_matter_in_how_many_parts_a_payload_lies(
            payload in prop::collection::vec(any::<u8>(), 0..600),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
            chunk_size in 1..300_u32,
            csid in prop::sample::select(vec![2, 63, 64, 319, 320, 65_599]),
            timestamp in prop::sample::select(vec![0, EXTENDED - 1, EXTENDED, u32::MAX]),
        ) {
            let header = Header { csid, timestamp, kind: Kind::Video, stream_id: 1 };
            let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(payload.len() + 1)).collect();
            ends.push(payload.len());
            ends.sort_unstable();
            let begins = std::iter::once(&0).chain(&ends);
            let parts: Vec<_> = begins.zip(&ends).map(|(from, to)| &payload[*from..*to]).collect();
            let mut scattered = Vec::new();
            write_parts(&header, &parts, chunk_size, &mut |bytes| scattered.extend_from_slice(bytes));
            let mut whole = BytesMut::new();
            write(&header, &payload, chunk_size, &mut whole);
            prop_assert_eq!(&scattered[..], &whole[..]);
        }
    }
}
