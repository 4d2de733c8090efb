//! RTP header (RFC 3550 §5.1), parsed with all its optional parts and written without them.
//!
//! ```text
//! [V:2 P X CC:4] [M PT:7] [sequence:16] [timestamp:32] [SSRC:32]  (CSRC…) (extension) payload (padding)
//! ```

use thiserror::Error;

use super::extension::{Elements, Extension};

/// Bytes of a header without contributing sources and extension.
pub const HEADER_BYTES: usize = 12;

const VERSION: u8 = 2;
/// Flag in a header's first byte: the packet ends with padding.
pub(super) const PADDING: u8 = 0x20;
const EXTENSION: u8 = 0x10;

/// Reason why a datagram is not an RTP packet.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum HeaderError {
    /// The datagram ends before its header does.
    #[error("the packet ends within its header")]
    Truncated,
    /// The version is not 2.
    #[error("the packet is of another version")]
    Version,
    /// The header claims more padding than there are bytes, or a padding of zero.
    #[error("the padding is longer than the packet")]
    Padding,
}

/// Fixed fields of a packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Header {
    /// Marker: the last packet of a frame, for the video formats here; for audio, the first packet after a pause.
    pub marker: bool,
    /// Payload type, whose format is in the session description; below 128.
    pub payload_type: u8,
    /// Sequence number, which counts packets.
    pub sequence: u16,
    /// Presentation time of the payload, in ticks of the format's clock.
    pub timestamp: u32,
    /// Identifier of the sender.
    pub ssrc: u32,
}

impl Header {
    /// Encodes the header.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = VERSION << 6;
        bytes[1] = u8::from(self.marker) << 7 | self.payload_type & 0x7F;
        bytes[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        bytes[8..].copy_from_slice(&self.ssrc.to_be_bytes());
        bytes
    }
}

/// Packet as it arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet<'a> {
    /// Fixed fields.
    pub header: Header,
    /// Contributing sources, four bytes each; at most 15.
    pub contributing: &'a [u8],
    /// Header extension; empty when there is none.
    pub extension: Extension<'a>,
    /// Payload without padding; empty in packets that only probe the path.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Parses a packet, which is already decrypted.
    ///
    /// # Errors
    /// If the packet is cut, or is not RTP.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, HeaderError> {
        let (fixed, rest) = datagram
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or(HeaderError::Truncated)?;
        if fixed[0] >> 6 != VERSION {
            return Err(HeaderError::Version);
        }
        let contributing = 4 * usize::from(fixed[0] & 15);
        let (contributing, mut payload) = rest
            .split_at_checked(contributing)
            .ok_or(HeaderError::Truncated)?;
        let mut extension = Extension::default();
        if fixed[0] & EXTENSION != 0 {
            extension = Extension::take(&mut payload).ok_or(HeaderError::Truncated)?;
        }
        if fixed[0] & PADDING != 0 {
            let padding = usize::from(*payload.last().ok_or(HeaderError::Padding)?);
            let left = payload.len().checked_sub(padding);
            let left = left.filter(|_| padding > 0).ok_or(HeaderError::Padding)?;
            payload = &payload[..left];
        }
        Ok(Self {
            header: Header {
                marker: fixed[1] & 0x80 != 0,
                payload_type: fixed[1] & 0x7F,
                sequence: u16::from_be_bytes([fixed[2], fixed[3]]),
                timestamp: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
                ssrc: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
            },
            contributing,
            extension,
            payload,
        })
    }

    /// Returns the elements of the header extension.
    pub fn elements(&self) -> Elements<'a> {
        self.extension.elements()
    }

    /// Returns the data of the element with number `id`.
    pub fn element(&self, id: u8) -> Option<&'a [u8]> {
        let found = self.elements().find(|(of, _)| *of == id);
        found.map(|(_, data)| data)
    }
}

/// Returns whether a datagram of an RTP port is RTCP: packet types 192 to 223 (RFC 5761 §4), which no payload type with
/// its marker may use.
pub fn is_rtcp(datagram: &[u8]) -> bool {
    matches!(datagram, [first, 192..=223, ..] if first >> 6 == VERSION)
}

/// Returns the bytes of padding at the end of a packet; `rest` is everything after the header. Zero if the padding
/// claimed is longer than the packet.
pub fn padding_bytes(header: &[u8; HEADER_BYTES], rest: &[u8]) -> usize {
    if header[0] & PADDING == 0 {
        return 0;
    }
    let padding = rest.last().map_or(0, |last| usize::from(*last));
    if padding <= rest.len() { padding } else { 0 }
}

/// Returns the header of the same packet without its padding.
pub const fn without_padding(mut header: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
    header[0] &= !PADDING;
    header
}

/// Returns the sequence number and the payload that a retransmission carries (RFC 4588 §4); `None` when it is only
/// padding.
pub fn retransmitted(payload: &[u8]) -> Option<(u16, &[u8])> {
    let (sequence, payload) = payload.split_first_chunk()?;
    (!payload.is_empty()).then(|| (u16::from_be_bytes(*sequence), payload))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_may_follow_the_header_is_passed_over() {
        let header = Header {
            marker: true,
            payload_type: 96,
            sequence: 0xFFFE,
            timestamp: 0xDEAD_BEEF,
            ssrc: 7,
        };
        let mut bytes = header.to_bytes().to_vec();
        bytes[0] |= PADDING | EXTENSION | 2;
        bytes.extend([1, 1, 1, 1, 2, 2, 2, 2]);
        bytes.extend([0xBE, 0xDE, 0, 1, 0x30, 0x55, 0, 0]);
        bytes.extend(b"payload\0\0\x03");
        let packet = Packet::parse(&bytes).expect("a whole packet");
        assert_eq!(packet.header, header);
        assert_eq!(packet.contributing, [1, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(packet.payload, b"payload");
        assert_eq!(packet.elements().collect::<Vec<_>>(), [(3, &[0x55][..])]);
        assert_eq!(packet.element(3), Some(&[0x55][..]));
        assert_eq!(packet.element(4), None);
        for length in 0..bytes.len() - b"payload\0\0\x03".len() {
            let cut = Packet::parse(&bytes[..length]);
            assert!(matches!(cut, Err(HeaderError::Truncated)), "{length} bytes");
        }
    }

    #[test]
    fn padding_has_its_bounds() {
        let packet = |tail: &[u8]| {
            let mut bytes = Header::default().to_bytes().to_vec();
            bytes[0] |= PADDING;
            bytes.extend_from_slice(tail);
            Packet::parse(&bytes).map(|packet| packet.payload.len())
        };
        assert_eq!(packet(&[]), Err(HeaderError::Padding));
        assert_eq!(packet(&[7, 0]), Err(HeaderError::Padding));
        assert_eq!(packet(&[7, 3]), Err(HeaderError::Padding));
        assert_eq!(packet(&[0, 2]), Ok(0), "a probe");
        assert_eq!(packet(&[7, 1]), Ok(1));
        assert_eq!(Packet::parse(&[0x40; 12]), Err(HeaderError::Version));
    }

    #[test]
    fn padding_is_measured_and_taken_off() {
        let plain = Header::default().to_bytes();
        let mut padded = plain;
        padded[0] |= PADDING;
        assert_eq!(padding_bytes(&plain, b"ab\x02"), 0);
        assert_eq!(padding_bytes(&padded, b"ab\x02"), 2);
        assert_eq!(padding_bytes(&padded, b"ab\x04"), 0);
        assert_eq!(padding_bytes(&padded, b""), 0);
        assert_eq!(without_padding(padded), plain);
        assert_eq!(without_padding(plain), plain);
    }

    #[test]
    fn reports_and_media_are_distinguished() {
        assert!(is_rtcp(&[0x81, 200, 0, 1]));
        assert!(!is_rtcp(&[0x80, 0x80 | 96, 0, 1]));
        assert!(!is_rtcp(&[0x00, 200]));
        assert_eq!(retransmitted(b"\x01\x02x"), Some((0x0102, &b"x"[..])));
        assert_eq!(retransmitted(b"\x01\x02"), None);
    }

    proptest! {
        #[test]
        fn any_header_is_read_as_written(
            marker: bool,
            payload_type in 0..128u8,
            sequence: u16,
            timestamp: u32,
            ssrc: u32,
            payload: Vec<u8>,
        ) {
            let header = Header { marker, payload_type, sequence, timestamp, ssrc };
            let bytes = [&header.to_bytes()[..], &payload].concat();
            let packet = Packet::parse(&bytes).expect("a whole packet");
            prop_assert_eq!((packet.header, packet.payload), (header, &payload[..]));
        }

        #[test]
        fn any_bytes_are_read_within_bounds(bytes: Vec<u8>) {
            if let Ok(packet) = Packet::parse(&bytes) {
                let elements: usize = packet.elements().map(|(_, data)| data.len()).sum();
                let parts = elements + packet.contributing.len() + packet.payload.len();
                prop_assert!(parts + HEADER_BYTES <= bytes.len());
            }
        }
    }
}
