//! Record of a packet in the lane's log.
//!
//! ```text
//! [length:16] [format:8] [packet: header with payload type 0, payload, padding if there is any]
//! ```
//!
//! The packets of a unit belong to one frame and have one format.

use container::rtp::{HEADER_BYTES, PayloadFormat};

/// Bytes before each packet.
pub const HEAD_BYTES: usize = 3;

/// Bytes needed to identify a packet.
pub const PEEK_BYTES: usize = HEAD_BYTES + HEADER_BYTES;

/// Returns the bytes before a packet of `len` bytes; no packet is longer than this length field can say.
pub fn head(format: PayloadFormat, len: usize) -> [u8; HEAD_BYTES] {
    debug_assert!(len <= usize::from(u16::MAX), "packets fit a datagram");
    let [high, low] = (len as u16).to_be_bytes();
    [high, low, format as u8]
}

/// Fields in the first bytes of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Record {
    /// Payload format.
    pub format: PayloadFormat,
    /// Length of the packet in bytes.
    pub len: u16,
    /// Number of the packet on the lane.
    pub sequence: u16,
}

impl Record {
    /// Parses the first [`PEEK_BYTES`] of a record.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; PEEK_BYTES] = bytes.first_chunk()?;
        let len = u16::from_be_bytes([bytes[0], bytes[1]]);
        let format = *PayloadFormat::ALL.get(usize::from(bytes[2]))?;
        (usize::from(len) >= HEADER_BYTES).then_some(Self {
            format,
            len,
            sequence: u16::from_be_bytes([bytes[HEAD_BYTES + 2], bytes[HEAD_BYTES + 3]]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_known_by_its_first_bytes() {
        for format in PayloadFormat::ALL {
            let mut bytes = head(format, 1_200).to_vec();
            bytes.extend([0x80, 0x80, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0]);
            let record = Record {
                format,
                len: 1_200,
                sequence: 0x1234,
            };
            assert_eq!(Record::peek(&bytes), Some(record));
            assert_eq!(Record::peek(&bytes[1..]), None, "cut");
        }
        let mut strange = [0; PEEK_BYTES];
        assert_eq!(Record::peek(&strange), None, "no room for a header");
        strange[1] = 100;
        strange[2] = PayloadFormat::ALL.len() as u8;
        assert_eq!(Record::peek(&strange), None, "no such format");
    }
}
