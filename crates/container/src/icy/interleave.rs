//! Insertion of metadata blocks into an audio stream.

use std::num::NonZeroUsize;

use super::{Block, Piece};

/// Inserter of a block after every `metaint` bytes of audio.
#[derive(Clone, Debug)]
pub struct Interleaver {
    metaint: NonZeroUsize,
    /// Audio bytes until the next block.
    left: usize,
}

impl Interleaver {
    /// Creates an interleaver at a position where a listener may start: `metaint` bytes before a block.
    pub const fn new(metaint: NonZeroUsize) -> Self {
        Self {
            metaint,
            left: metaint.get(),
        }
    }

    /// Interleaves `audio`; passes its pieces and the blocks between them to `emit` in order. A block directly follows
    /// its last audio byte, with the value that `block` has then.
    pub fn push(&mut self, mut audio: &[u8], block: &Block, mut emit: impl FnMut(Piece<'_>)) {
        while audio.len() >= self.left {
            let (before, after) = audio.split_at(self.left);
            emit(Piece::Audio(before));
            emit(Piece::Block(block.bytes()));
            audio = after;
            self.left = self.metaint.get();
        }
        if !audio.is_empty() {
            emit(Piece::Audio(audio));
            self.left -= audio.len();
        }
    }

    /// Returns the audio bytes between blocks: the `icy-metaint` of the response head.
    pub const fn metaint(&self) -> NonZeroUsize {
        self.metaint
    }
}

#[cfg(test)]
mod tests {
    use media::{Charset, Title};
    use proptest::prelude::*;

    use super::super::{Deinterleaver, title_of};
    use super::*;

    fn wire(metaint: NonZeroUsize, frames: &[Vec<u8>], block: &Block) -> Vec<u8> {
        let mut interleaver = Interleaver::new(metaint);
        let mut wire = Vec::new();
        for frame in frames {
            interleaver.push(frame, block, |piece| match piece {
                Piece::Audio(bytes) | Piece::Block(bytes) => wire.extend_from_slice(bytes),
            });
        }
        wire
    }

    #[test]
    fn blocks_stand_at_fixed_positions() {
        let metaint = NonZeroUsize::new(4).expect("four is not zero");
        let frames = [b"abcde".to_vec(), b"fgh".to_vec()];
        assert_eq!(wire(metaint, &frames, &Block::empty()), b"abcd\0efgh\0");
    }

    proptest! {
        #[test]
        fn the_audio_comes_out_again_however_it_is_cut(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20),
            metaint in 1usize..70,
            text in "[a-z']{0,40}",
            cut in 1usize..40,
        ) {
            let metaint = NonZeroUsize::new(metaint).expect("at least one");
            let block = Block::new(&Title { text: text.clone(), url: String::new() }, Charset::UTF_8);
            let wire = wire(metaint, &frames, &block);
            let audio = frames.concat();
            prop_assert_eq!(
                wire.len(),
                audio.len() + audio.len() / metaint.get() * block.bytes().len()
            );
            prop_assert_eq!(&self::wire(metaint, std::slice::from_ref(&audio), &block), &wire);
            let mut deinterleaver = Deinterleaver::new(metaint);
            let mut recovered = Vec::new();
            let mut blocks = 0;
            for piece in wire.chunks(cut) {
                deinterleaver.push(piece, |piece| match piece {
                    Piece::Audio(bytes) => recovered.extend_from_slice(bytes),
                    Piece::Block(bytes) => {
                        assert_eq!(title_of(bytes), Some(&text[..]));
                        blocks += 1;
                    }
                });
            }
            prop_assert_eq!(blocks, audio.len() / metaint.get());
            prop_assert_eq!(recovered, audio);
        }
    }
}
