//! VP9 (RFC 9628 §4), both modes. The frames of all spatial layers of one time become a superframe.

use bytes::Bytes;
use media::Span;
use media::codec::vp9::{FrameHeader, KeyHeader};

use super::buffer::Buffer;
use super::vp8::{FULL_BOX, behind_picture_id};
use super::{Assembly, Frame, Malformed};

pub(in crate::rtp) const HAS_PICTURE_ID: u8 = 0x80;
pub(in crate::rtp) const PREDICTED: u8 = 0x40;
const HAS_LAYERS: u8 = 0x20;
const FLEXIBLE: u8 = 0x10;
pub(in crate::rtp) const START: u8 = 0x08;
pub(in crate::rtp) const END: u8 = 0x04;
pub(in crate::rtp) const HAS_STRUCTURE: u8 = 0x02;

/// Upper bound on the references of a frame in flexible mode (§4.2).
const REFERENCES_MAX: usize = 3;

/// Upper bound on the frames in a superframe, which are as many as there can be layers (annex B of the bitstream
/// specification).
const LAYERS_MAX: usize = 8;

/// Current superframe.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    buffer: Buffer,
    /// Ends of the layer frames.
    ends: Vec<usize>,
    /// A layer frame has begun and not ended.
    is_open: bool,
    key: Option<KeyHeader>,
}

/// Payload without its descriptor.
struct Piece<'a> {
    flags: u8,
    /// Spatial layer.
    layer: u8,
    bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    fn parse(payload: &'a [u8]) -> Option<Self> {
        let (flags, mut rest) = payload.split_first()?;
        let flags = *flags;
        if flags & HAS_PICTURE_ID != 0 {
            rest = behind_picture_id(rest)?;
        }
        let mut layer = 0;
        if flags & HAS_LAYERS != 0 {
            layer = rest.first()? >> 1 & 7;
            // TL0PICIDX, in the mode that needs it.
            rest = rest.get(if flags & FLEXIBLE == 0 { 2 } else { 1 }..)?;
        }
        if flags & FLEXIBLE != 0 && flags & PREDICTED != 0 {
            for index in 1.. {
                let (reference, after) = rest.split_first()?;
                rest = after;
                if reference & 1 == 0 {
                    break;
                }
                if index == REFERENCES_MAX {
                    return None;
                }
            }
        }
        if flags & HAS_STRUCTURE != 0 {
            rest = skip_structure(rest)?;
        }
        Some(Self {
            flags,
            layer,
            bytes: rest,
        })
    }

    fn begins_picture(&self) -> bool {
        self.flags & START != 0 && self.layer == 0
    }
}

/// Returns the bytes after the scalability structure (§4.2.1).
fn skip_structure(structure: &[u8]) -> Option<&[u8]> {
    let (head, mut rest) = structure.split_first()?;
    if head & 0x10 != 0 {
        rest = rest.get(4 * (usize::from(head >> 5) + 1)..)?;
    }
    if head & 0x08 != 0 {
        let (pictures, after) = rest.split_first()?;
        rest = after;
        for _ in 0..*pictures {
            let references = usize::from(rest.first()? >> 2 & 3);
            rest = rest.get(1 + references..)?;
        }
    }
    Some(rest)
}

impl Pieces {
    /// Closes a superframe of several frames with the index of their sizes.
    fn index(&mut self) -> Result<(), Malformed> {
        if self.ends.len() < 2 {
            return Ok(());
        }
        let marker = 0xC0 | 3 << 3 | (self.ends.len() - 1) as u8;
        let mut start = 0;
        self.buffer.put(&[marker])?;
        for end in &self.ends {
            self.buffer.put(&((end - start) as u32).to_le_bytes())?;
            start = *end;
        }
        self.buffer.put(&[marker])
    }
}

impl Assembly for Pieces {
    fn push(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let piece = Piece::parse(payload).ok_or(Malformed)?;
        let begins = piece.flags & START != 0;
        if begins == self.is_open || self.ends.len() == LAYERS_MAX {
            return Err(Malformed);
        }
        self.buffer.put(piece.bytes)?;
        self.is_open = piece.flags & END == 0;
        if !self.is_open {
            self.ends.push(self.buffer.len());
        }
        Ok(())
    }

    fn begins_frame(&self, payload: &[u8]) -> bool {
        Piece::parse(payload).is_some_and(|piece| piece.begins_picture())
    }

    fn finish(&mut self) -> Result<Option<Frame>, Malformed> {
        let header = FrameHeader::parse(self.buffer.since(0));
        let is_whole = !self.is_open && self.index().is_ok();
        self.ends.clear();
        self.is_open = false;
        let Some(header) = header.filter(|_| is_whole) else {
            self.buffer.clear();
            return Err(Malformed);
        };
        let keyframe = matches!(header, FrameHeader::Key(_));
        if let FrameHeader::Key(key) = header {
            self.key = Some(key);
        }
        let record = self.key.filter(|_| keyframe).map(|key| key.record());
        let data = self.buffer.take();
        Ok(data.map(|data| Frame {
            data,
            keyframe,
            duration: Span::ZERO,
            config: record.map(|record| Bytes::from([&FULL_BOX[..], &record].concat())),
        }))
    }

    fn discard(&mut self) {
        self.buffer.clear();
        self.ends.clear();
        self.is_open = false;
    }

    fn dimensions(&self) -> Option<(u32, u32)> {
        self.key.map(|key| (key.width, key.height))
    }
}
