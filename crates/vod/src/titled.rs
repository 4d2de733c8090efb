//! The title of a file between its sound, as its body is read.

use bytes::{Bytes, BytesMut};
use container::icy::{Block, Interleaver, Piece};
use formats::METAINT;
use media::{Charset, Title};

/// Puts a title into sound: once, because many players take each title for a new one.
#[derive(Debug)]
pub(crate) struct Titled {
    interleaver: Interleaver,
    /// What the next block says.
    due: Block,
}

impl Titled {
    /// Before the first byte.
    pub(crate) fn new(title: &Title) -> Self {
        Self {
            interleaver: Interleaver::new(METAINT),
            due: Block::new(title, Charset::UTF_8),
        }
    }

    /// What the blocks add to so much sound, of which none was taken yet.
    pub(crate) fn added(&self, sound: u64) -> u64 {
        match sound / METAINT.get() as u64 {
            0 => 0,
            blocks => self.due.bytes().len() as u64 + blocks - 1,
        }
    }

    /// Puts blocks where they belong in what follows.
    pub(crate) fn put(&mut self, sound: &[u8]) -> Bytes {
        let room = sound.len() + self.added(sound.len() as u64) as usize + self.due.bytes().len();
        let mut bytes = BytesMut::with_capacity(room);
        // At most one block falls into each.
        for interval in sound.chunks(METAINT.get()) {
            let mut is_told = false;
            self.interleaver
                .push(interval, &self.due, |piece| match piece {
                    Piece::Audio(piece) => bytes.extend_from_slice(piece),
                    Piece::Block(block) => {
                        bytes.extend_from_slice(block);
                        is_told = true;
                    }
                });
            if is_told {
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
    fn the_title_is_told_once_however_the_sound_is_cut() {
        let title = Title {
            text: "Björk - Jóga".to_owned(),
            url: String::new(),
        };
        let sound: Vec<u8> = (0..100_000_u32).map(|byte| byte as u8).collect();
        for cut in [1_000, METAINT.get(), 70_000, sound.len()] {
            let mut titled = Titled::new(&title);
            let added = titled.added(sound.len() as u64);
            let pieces = sound.chunks(cut);
            let wire: Vec<u8> = pieces.flat_map(|piece| titled.put(piece)).collect();
            assert_eq!(wire.len() as u64, sound.len() as u64 + added);
            let (mut recovered, mut titles) = (Vec::new(), Vec::new());
            Deinterleaver::new(METAINT).push(&wire, |piece| match piece {
                Piece::Audio(bytes) => recovered.extend_from_slice(bytes),
                Piece::Block(block) => titles.extend(title_of(block).map(str::to_owned)),
            });
            assert_eq!(
                (recovered == sound, titles),
                (true, vec![title.text.clone()])
            );
        }
    }
}
