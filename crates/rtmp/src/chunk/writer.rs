//! Writes messages as chunks that depend on no earlier chunk.

use bytes::{BufMut, BytesMut};

use super::EXTENDED;
use crate::message::Kind;

/// What the first chunk of a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The chunk stream, 2 to 65,599.
    pub csid: u32,
    /// Milliseconds modulo 2^32.
    pub timestamp: u32,
    /// The type.
    pub kind: Kind,
    /// The message stream.
    pub stream_id: u32,
}

/// Appends a message to `output`, in chunks of up to `chunk_size` bytes of payload.
///
/// The first chunk has a full header (format 0) and the others none (format 3), so a receiver
/// understands the bytes whatever it was sent before: they may be shared by many receivers, and one
/// may begin at any message. A time of 0xFFFFFF ms or more is repeated in each chunk, as receivers
/// expect.
///
/// `payload` must be shorter than 16 MiB, the most that the length field can say.
pub fn write(header: &Header, payload: &[u8], chunk_size: u32, output: &mut BytesMut) {
    debug_assert!((2..=65_599).contains(&header.csid));
    debug_assert!(payload.len() < 1 << 24);
    let chunk_size = chunk_size.max(1) as usize;
    let extended = header.timestamp >= EXTENDED;
    output.reserve(payload.len() + 18 + payload.len() / chunk_size * 7);

    basic_header(0, header.csid, output);
    output.put_uint(u64::from(header.timestamp.min(EXTENDED)), 3);
    output.put_uint(payload.len() as u64 & 0xff_ffff, 3);
    output.put_u8(header.kind.to_wire());
    output.put_u32_le(header.stream_id);
    if extended {
        output.put_u32(header.timestamp);
    }
    let (first, rest) = payload.split_at(chunk_size.min(payload.len()));
    output.put_slice(first);
    for chunk in rest.chunks(chunk_size) {
        basic_header(3, header.csid, output);
        if extended {
            output.put_u32(header.timestamp);
        }
        output.put_slice(chunk);
    }
}

fn basic_header(format: u8, csid: u32, output: &mut BytesMut) {
    let format = format << 6;
    match csid {
        0..64 => output.put_u8(format | csid as u8),
        64..320 => {
            output.put_u8(format);
            output.put_u8((csid - 64) as u8);
        }
        _ => {
            output.put_u8(format | 1);
            output.put_u16_le((csid - 64) as u16);
        }
    }
}
