//! Insertion of a file's title into its audio, as its body is read.

use bytes::{Bytes, BytesMut};
use container::icy::{Block, Interleaver, Piece};
use media::{Charset, Title};
use packagers::METAINT;

/// Inserter of one title. It sends the title once, because many players take each occurrence for a new one.
#[derive(Debug)]
pub(crate) struct Titled {
    interleaver: Interleaver,
    /// Contents of the next block.
    due: Block,
}

impl Titled {
    /// Makes an inserter before the first byte.
    pub(crate) fn new(title: &Title) -> Self {
        Self {
            interleaver: Interleaver::new(METAINT),
            due: Block::new(title, Charset::UTF_8),
        }
    }

    /// Returns the bytes that blocks add to `audio` bytes of audio, counted from the beginning.
    pub(crate) fn added(&self, audio: u64) -> u64 {
        match audio / METAINT.get() as u64 {
            0 => 0,
            blocks => self.due.bytes().len() as u64 + blocks - 1,
        }
    }

    /// Inserts the blocks into the audio that follows.
    pub(crate) fn put(&mut self, audio: &[u8]) -> Bytes {
        let room = audio.len() + self.added(audio.len() as u64) as usize + self.due.bytes().len();
        let mut bytes = BytesMut::with_capacity(room);
        // At most one block falls into each interval.
        for interval in audio.chunks(METAINT.get()) {
            let mut is_reported = false;
            self.interleaver
                .push(interval, &self.due, |piece| match piece {
                    Piece::Audio(piece) => bytes.extend_from_slice(piece),
                    Piece::Block(block) => {
                        bytes.extend_from_slice(block);
                        is_reported = true;
                    }
                });
            if is_reported {
                self.due = Block::empty();
            }
        }
        bytes.freeze()
    }
}

#[cfg(test)]
mod tests {
    use container::icy::{Deinterleaver, title_of};

    use super::*;

    #[test]
    fn the_title_is_reported_once_however_the_audio_is_cut() {
        let title = Title {
            text: "Björk - Jóga".to_owned(),
            url: String::new(),
        };
        let audio: Vec<u8> = (0..100_000_u32).map(|byte| byte as u8).collect();
        for cut in [1_000, METAINT.get(), 70_000, audio.len()] {
            let mut titled = Titled::new(&title);
            let added = titled.added(audio.len() as u64);
            let pieces = audio.chunks(cut);
            let wire: Vec<u8> = pieces.flat_map(|piece| titled.put(piece)).collect();
            assert_eq!(wire.len() as u64, audio.len() as u64 + added);
            let (mut recovered, mut titles) = (Vec::new(), Vec::new());
            Deinterleaver::new(METAINT).push(&wire, |piece| match piece {
                Piece::Audio(bytes) => recovered.extend_from_slice(bytes),
                Piece::Block(block) => titles.extend(title_of(block).map(str::to_owned)),
            });
            assert!(recovered == audio);
            assert_eq!(titles, std::slice::from_ref(&title.text));
        }
    }
}
