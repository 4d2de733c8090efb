//! VP8 (RFC 7741 §4.2): a descriptor with a PictureID before each piece.
//!
//! ```text
//! [X R N S R PID:3] [I L T K RSV:4] [M number:15] piece
//! ```

use media::codec::vp8::FrameHeader;

use super::super::depacketize::vp8::{EXTENDED, HAS_PICTURE_ID, START_OF_PARTITION};
use super::super::payloads::Payloads;
use super::{Frame, Picture, equal_pieces};

const DESCRIPTOR_BYTES: usize = 4;

/// Packetizer of one track.
#[derive(Debug, Default)]
pub(super) struct Packer {
    next: PictureId,
}

/// Counter of PictureIDs in 15 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PictureId(u16);

impl PictureId {
    /// Returns the PictureID in its 15-bit form, and advances the counter.
    pub(super) fn take(&mut self) -> [u8; 2] {
        let number = self.0;
        self.0 = (number + 1) & 0x7FFF;
        (0x8000 | number).to_be_bytes()
    }
}

impl Packer {
    pub(super) fn push(&mut self, frame: &Frame<'_>, out: &mut Payloads) -> Option<Picture> {
        let header = FrameHeader::parse(frame.bytes)?;
        let [high, low] = self.next.take();
        let piece_bytes = equal_pieces(frame.bytes.len(), frame.payload_bytes - DESCRIPTOR_BYTES);
        for (index, piece) in frame.bytes.chunks(piece_bytes).enumerate() {
            // Partitions are not distinguished: everything counts as the first one.
            let start = if index == 0 { START_OF_PARTITION } else { 0 };
            out.put(&[EXTENDED | start, HAS_PICTURE_ID, high, low]);
            out.put(piece);
            out.end_packet();
        }
        Some(Picture {
            keyframe: header != FrameHeader::Inter,
            ..Picture::default()
        })
    }
}
