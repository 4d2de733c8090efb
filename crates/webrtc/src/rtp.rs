//! The RTP header (RFC 3550 §5.1), as far as a relay reads it.

/// Bytes of a header without contributing sources and extension.
pub const HEADER_LEN: usize = 12;

/// The fixed fields of a packet's header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    /// Marks the last packet of a frame, or the first after silence.
    pub marker: bool,
    /// Negotiated format of the payload.
    pub payload_type: u8,
    /// Last 16 bits of the packet's index.
    pub sequence: u16,
    /// Sampling instant, in ticks of the format's clock.
    pub timestamp: u32,
    /// Source of the packet.
    pub ssrc: u32,
    /// Bytes of the whole header, contributing sources and extension included.
    pub len: usize,
}

impl Header {
    /// Parses the header of a packet; `None` if the packet is not RTP or is truncated within its header.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let fixed = packet.get(..HEADER_LEN)?;
        if fixed[0] >> 6 != 2 {
            return None;
        }
        let mut len = HEADER_LEN + 4 * usize::from(fixed[0] & 0x0f);
        if fixed[0] & 0x10 != 0 {
            let words = packet.get(len + 2..len + 4)?;
            len += 4 + 4 * usize::from(u16::from_be_bytes([words[0], words[1]]));
        }
        if packet.len() < len {
            return None;
        }
        Some(Self {
            marker: fixed[1] & 0x80 != 0,
            payload_type: fixed[1] & 0x7f,
            sequence: u16::from_be_bytes([fixed[2], fixed[3]]),
            timestamp: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            ssrc: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
            len,
        })
    }
}

/// Returns the source from a valid header.
pub(crate) fn ssrc(header: &[u8]) -> Option<[u8; 4]> {
    header.get(8..12)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_counts_sources_and_extension() {
        let mut packet = vec![0x92, 0xe0, 0, 7, 0, 0, 0, 9, 1, 2, 3, 4];
        packet.extend([0; 8]);
        packet.extend([0xbe, 0xde, 0, 1, 0x10, 0, 0, 0]);
        let header = Header::parse(&packet).expect("a header");
        assert_eq!(header.len, 28);
        assert!(header.marker);
        assert_eq!((header.payload_type, header.sequence), (96, 7));
        assert_eq!((header.timestamp, header.ssrc), (9, 0x0102_0304));
        for cut in 0..packet.len() {
            assert_eq!(Header::parse(&packet[..cut]), None);
        }
    }

    #[test]
    fn other_versions_are_not_rtp() {
        assert_eq!(Header::parse(&[0x40; 12]), None);
    }
}
