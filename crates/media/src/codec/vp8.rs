//! VP8: the first bytes of a frame (RFC 6386 §9.1).

/// Size of a keyframe's header, including the frame size, in bytes.
const KEYFRAME_HEADER_BYTES: usize = 10;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameHeader {
    /// A keyframe, with its frame size.
    Key {
        /// Width in luma samples.
        width: u32,
        /// Height in luma samples.
        height: u32,
    },
    /// A frame predicted from others.
    Inter,
}

impl FrameHeader {
    /// Parses the header; `None` when it is truncated or a keyframe has no start code.
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

/// VPCodecConfigurationRecord of a VP8 stream: it has effectively one profile, and its frames are 8 bit 4:2:0 of
/// BT.601.
pub const RECORD: [u8; 8] = [0, 0, 0x80, 6, 6, 6, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_distinguished() {
        let key = [0x50, 0x05, 0x00, 0x9D, 0x01, 0x2A, 0x40, 0x41, 0xB4, 0x00];
        let (width, height) = (320, 180);
        let header = FrameHeader::parse(&key);
        assert_eq!(header, Some(FrameHeader::Key { width, height }));
        assert_eq!(FrameHeader::parse(&key[..9]), None);
        assert_eq!(FrameHeader::parse(&[0x51, 0, 0]), Some(FrameHeader::Inter));
        assert_eq!(FrameHeader::parse(&[0x51, 0]), None);
    }
}
