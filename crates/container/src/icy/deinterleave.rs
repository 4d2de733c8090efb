//! Removal of metadata blocks from an audio stream.

use std::num::NonZeroUsize;

use super::{BLOCK_BYTES_MAX, Piece};

/// Splitter that separates audio from metadata, however the stream is cut.
#[derive(Clone, Debug)]
pub struct Deinterleaver {
    metaint: NonZeroUsize,
    /// Audio bytes until the next block.
    left: usize,
    /// Part of a block that has arrived; at most [`BLOCK_BYTES_MAX`].
    block: Vec<u8>,
}

impl Deinterleaver {
    /// Creates a reader of a stream that begins `metaint` bytes before its first block.
    pub const fn new(metaint: NonZeroUsize) -> Self {
        Self {
            metaint,
            left: metaint.get(),
            block: Vec::new(),
        }
    }

    /// Takes `bytes`; passes audio to `emit` as it arrives, and blocks once they are whole.
    pub fn push(&mut self, mut bytes: &[u8], mut emit: impl FnMut(Piece<'_>)) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let (audio, rest) = bytes.split_at(self.left.min(bytes.len()));
                emit(Piece::Audio(audio));
                self.left -= audio.len();
                bytes = rest;
                continue;
            }
            let length = self.block.first().unwrap_or(&bytes[0]);
            let wanted = 1 + 16 * usize::from(*length) - self.block.len();
            let (part, rest) = bytes.split_at(wanted.min(bytes.len()));
            self.block.extend_from_slice(part);
            debug_assert!(self.block.len() <= BLOCK_BYTES_MAX);
            bytes = rest;
            if part.len() == wanted {
                emit(Piece::Block(&self.block));
                self.block.clear();
                self.left = self.metaint.get();
            }
        }
    }
}
