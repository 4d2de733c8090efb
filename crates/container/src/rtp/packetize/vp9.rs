//! VP9 (RFC 9628 §4.2), non-flexible mode: one layer, and its scalability structure with keyframes.
//!
//! ```text
//! [I P L F B E V Z] [M number:15] (structure, before the first piece of a keyframe) piece
//! ```

use media::codec::vp9::FrameHeader;

use super::super::depacketize::vp9::{END, HAS_PICTURE_ID, HAS_STRUCTURE, PREDICTED, START};
use super::super::payloads::Payloads;
use super::vp8::PictureId;
use super::{Frame, Picture, equal_pieces};

const DESCRIPTOR_BYTES: usize = 3;
const STRUCTURE_BYTES: usize = 8;

/// Packetizer of one track.
#[derive(Debug, Default)]
pub(super) struct Packer {
    next: PictureId,
}

impl Packer {
    pub(super) fn push(&mut self, frame: &Frame<'_>, out: &mut Payloads) -> Option<Picture> {
        let (structure, predicted) = match FrameHeader::parse(frame.bytes)? {
            FrameHeader::Key(key) => (Some(structure(key.width, key.height)), 0),
            FrameHeader::Inter => (None, PREDICTED),
        };
        let [high, low] = self.next.take();
        let mut rest = frame.bytes;
        let mut structure_left = structure.as_ref().map_or(&[][..], |bytes| &bytes[..]);
        let bytes = structure_left.len() + rest.len();
        let piece_bytes = equal_pieces(bytes, frame.payload_bytes - DESCRIPTOR_BYTES);
        let mut start = START;
        while !rest.is_empty() {
            let room = piece_bytes - structure_left.len();
            let (piece, after) = rest.split_at(room.min(rest.len()));
            rest = after;
            let end = if rest.is_empty() { END } else { 0 };
            let described = match structure_left {
                [] => 0,
                _ => HAS_STRUCTURE,
            };
            out.put(&[
                HAS_PICTURE_ID | predicted | start | end | described,
                high,
                low,
            ]);
            out.put(structure_left);
            out.put(piece);
            out.end_packet();
            (start, structure_left) = (0, &[]);
        }
        Some(Picture {
            keyframe: structure.is_some(),
            ..Picture::default()
        })
    }
}

/// Returns the structure of one spatial layer of this size, in which each frame is predicted from the one before.
fn structure(width: u32, height: u32) -> [u8; STRUCTURE_BYTES] {
    let [w_high, w_low] = (width as u16).to_be_bytes();
    let [h_high, h_low] = (height as u16).to_be_bytes();
    // N_S 0, Y, G; N_G 1: T 0, U 0, R 1, P_DIFF 1.
    [0x18, w_high, w_low, h_high, h_low, 1, 0x04, 1]
}
