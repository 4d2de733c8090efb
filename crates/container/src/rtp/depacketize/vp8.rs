//! VP8 (RFC 7741 §4).

use bytes::Bytes;
use media::Span;
use media::codec::vp8::{FrameHeader, RECORD};

use super::buffer::Buffer;
use super::{Assembly, Frame, Malformed};

pub(in crate::rtp) const EXTENDED: u8 = 0x80;
pub(in crate::rtp) const START_OF_PARTITION: u8 = 0x10;
const PARTITION: u8 = 0x07;
pub(in crate::rtp) const HAS_PICTURE_ID: u8 = 0x80;
const HAS_TL0: u8 = 0x40;
const HAS_TID: u8 = 0x20;
const HAS_KEY: u8 = 0x10;

/// Version and flags, which the record follows in ISO media files and, by custom, in FLV.
pub(super) const FULL_BOX: [u8; 4] = [1, 0, 0, 0];

/// Current frame.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    buffer: Buffer,
    dimensions: Option<(u32, u32)>,
}

/// Returns the bytes after the descriptor (§4.2), and whether they begin a frame.
fn piece(payload: &[u8]) -> Option<(bool, &[u8])> {
    let (first, mut rest) = payload.split_first()?;
    let begins = first & (START_OF_PARTITION | PARTITION) == START_OF_PARTITION;
    if first & EXTENDED != 0 {
        let (flags, after) = rest.split_first()?;
        rest = after;
        if flags & HAS_PICTURE_ID != 0 {
            rest = behind_picture_id(rest)?;
        }
        if flags & HAS_TL0 != 0 {
            rest = rest.get(1..)?;
        }
        if flags & (HAS_TID | HAS_KEY) != 0 {
            rest = rest.get(1..)?;
        }
    }
    Some((begins, rest))
}

/// Returns the bytes after a PictureID, which has 7 or 15 bits.
pub(super) fn behind_picture_id(bytes: &[u8]) -> Option<&[u8]> {
    let is_long = bytes.first()? & 0x80 != 0;
    bytes.get(1 + usize::from(is_long)..)
}

impl Assembly for Pieces {
    fn push(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let (begins, piece) = piece(payload).ok_or(Malformed)?;
        if begins != (self.buffer.len() == 0) {
            return Err(Malformed);
        }
        self.buffer.put(piece)
    }

    fn begins_frame(&self, payload: &[u8]) -> bool {
        piece(payload).is_some_and(|(begins, _)| begins)
    }

    fn finish(&mut self) -> Result<Option<Frame>, Malformed> {
        let Some(header) = FrameHeader::parse(self.buffer.since(0)) else {
            self.buffer.clear();
            return Err(Malformed);
        };
        let keyframe = match header {
            FrameHeader::Key { width, height } => {
                self.dimensions = Some((width, height));
                true
            }
            FrameHeader::Inter => false,
        };
        let data = self.buffer.take();
        Ok(data.map(|data| Frame {
            data,
            keyframe,
            duration: Span::ZERO,
            config: keyframe.then(|| Bytes::from([&FULL_BOX[..], &RECORD].concat())),
        }))
    }

    fn discard(&mut self) {
        self.buffer.clear();
    }

    fn dimensions(&self) -> Option<(u32, u32)> {
        self.dimensions
    }
}
