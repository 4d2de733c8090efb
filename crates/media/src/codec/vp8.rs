//! VP8: what the first bytes of a frame say (RFC 6386 §9.1).

/// Bytes that a keyframe's header takes, its size included.
const KEYFRAME_HEADER_BYTES: usize = 10;

/// What kind of frame it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameHeader {
    /// A keyframe, and how large its pictures are.
    Key {
        /// In luma samples.
        width: u32,
        /// In luma samples.
        height: u32,
    },
    /// A frame predicted from others.
    Inter,
}

impl FrameHeader {
    /// Reads the header; `None` when it is cut or a keyframe has no start code.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let [first, _, _] = *frame.first_chunk()?;
        if first & 1 == 1 {
            return Some(Self::Inter);
        }
        let header: &[u8; KEYFRAME_HEADER_BYTES] = frame.first_chunk()?;
        let size = |at| u32::from(u16::from_le_bytes([header[at], header[at + 1]]) & 0x3FFF);
        (header[3..6] == [0x9D, 0x01, 0x2A]).then(|| Self::Key {
            width: size(6),
            height: size(8),
        })
    }
}

/// The VPCodecConfigurationRecord of a VP8 stream: it has effectively one profile, and its pictures
/// are 8 bit 4:2:0 of BT.601.
pub const RECORD: [u8; 8] = [0, 0, 0x80, 6, 6, 6, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_apart() {
        let key = [0x50, 0x05, 0x00, 0x9D, 0x01, 0x2A, 0x40, 0x41, 0xB4, 0x00];
        assert_eq!(
            FrameHeader::parse(&key),
            Some(FrameHeader::Key {
                width: 320,
                height: 180
            })
        );
        assert_eq!(FrameHeader::parse(&key[..9]), None);
        assert_eq!(FrameHeader::parse(&[0x51, 0, 0]), Some(FrameHeader::Inter));
        assert_eq!(FrameHeader::parse(&[0x51, 0]), None);
    }
}
