//! The first frames of a stream that is joined midway.
//!
//! A frame's sound may begin in the frames before it, which have had room to spare (the bit reservoir). Where those are
//! missing it cannot be decoded: it is made silent, and keeps its bytes, so that the next frame finds there what it
//! refers to. One or two frames of a usual stream are.

use bytes::{Bytes, BytesMut};
use media::codec::mpeg_audio::{FrameHeader, Layer, Version};

/// Bytes that a frame can refer back to at most: nine bits of them.
const BYTES_MAX: usize = 511;

/// See the module's description.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reservoir {
    /// Bytes of sound that the frames so far have.
    bytes: usize,
    /// A frame has found all that it refers to, and so do those after it.
    is_sound: bool,
}

impl Reservoir {
    /// Whether frames may be passed on as they are.
    pub const fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// The next frame, as it can be decoded behind those of another stream. Once they are sound, frames are not copied.
    pub fn mended(&mut self, frame: Bytes) -> Bytes {
        if self.is_sound {
            return frame;
        }
        let mut own = BytesMut::from(&frame[..]);
        self.mend(&mut own);
        own.freeze()
    }

    /// Takes the next frame; silences it if what it refers to is not there.
    pub fn mend(&mut self, frame: &mut [u8]) {
        if self.is_sound {
            return;
        }
        let Some(head) = FrameHeader::parse(frame).filter(|head| head.layer == Layer::Three) else {
            self.is_sound = true;
            return;
        };
        let checksum = if head.checksum { 2 } else { 0 };
        let side = FrameHeader::BYTES + checksum;
        let main = side + head.side_info_bytes();
        let Some(&[high, low]) = frame.get(side..side + 2).and_then(|two| two.first_chunk()) else {
            return;
        };
        let begins_before = match head.version {
            Version::Mpeg1 => usize::from(high) << 1 | usize::from(low >> 7),
            Version::Mpeg2 | Version::Mpeg25 => usize::from(high),
        };
        if begins_before <= self.bytes {
            self.is_sound = true;
            return;
        }
        let Some(info) = frame.get_mut(side..main) else {
            return;
        };
        info.fill(0);
        if head.checksum {
            let sum = checksum_of(&frame[2..4], &frame[side..main]);
            frame[FrameHeader::BYTES..side].copy_from_slice(&sum);
        }
        self.bytes = (self.bytes + frame.len() - main).min(BYTES_MAX);
    }
}

/// CRC-16 with polynomial 0x8005, begun with ones (ISO/IEC 11172-3 §2.4.3.1).
fn checksum_of(header: &[u8], side_info: &[u8]) -> [u8; 2] {
    let all = header.iter().chain(side_info);
    let sum = all.fold(u16::MAX, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| {
            let carry = if sum >> 15 == 1 { 0x8005 } else { 0 };
            sum << 1 ^ carry
        })
    });
    sum.to_be_bytes()
}
