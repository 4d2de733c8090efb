//! Mending of the first frames of a stream that is joined midway.
//!
//! A frame's audio data may begin in earlier frames that had room to spare (the bit reservoir). If those are missing,
//! the frame cannot be decoded: it is silenced but keeps its bytes, so that the next frame finds the data it refers to.
//! In a usual stream this affects one or two frames.

use bytes::{Bytes, BytesMut};
use media::codec::mpeg_audio::{FrameHeader, Layer, Version};

/// Upper bound on the bytes that a frame can refer back to: nine bits.
const BYTES_MAX: usize = 511;

/// State of a joined stream's bit reservoir; pass each frame to [`mended`](Self::mended) or [`mend`](Self::mend).
#[derive(Clone, Copy, Debug, Default)]
pub struct Reservoir {
    /// Bytes of audio data in the frames so far.
    bytes: usize,
    /// A frame has found all that it refers to, and so do those after it.
    is_audio: bool,
}

impl Reservoir {
    /// Returns whether frames may be passed on unchanged.
    pub const fn is_audio(&self) -> bool {
        self.is_audio
    }

    /// Returns the next frame, made decodable after frames of another stream. Frames are not copied once they need no
    /// mending.
    pub fn mended(&mut self, frame: Bytes) -> Bytes {
        if self.is_audio {
            return frame;
        }
        let mut own = BytesMut::from(&frame[..]);
        self.mend(&mut own);
        own.freeze()
    }

    /// Takes the next frame; silences it if the data it refers to is missing.
    pub fn mend(&mut self, frame: &mut [u8]) {
        if self.is_audio {
            return;
        }
        let Some(head) = FrameHeader::parse(frame).filter(|head| head.layer == Layer::Three) else {
            self.is_audio = true;
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
            self.is_audio = true;
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

/// Returns the CRC-16 with polynomial 0x8005, starting from all ones (ISO/IEC 11172-3 §2.4.3.1).
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
