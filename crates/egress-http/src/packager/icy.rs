//! MP3 or ADTS with titles between, one lane for all who ask for them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use container::icy::{Block, Interleaver, Piece};
use fanout::{Entry, Packager, Preamble, Sink};
use media::Item;

/// Audio bytes between two metadata blocks: what Icecast has always announced.
pub(crate) const METAINT: NonZeroUsize = match NonZeroUsize::new(16_000) {
    Some(metaint) => metaint,
    None => unreachable!(),
};

/// Interleaves the current title at fixed positions.
///
/// Listeners count bytes, so one may start only right after a block, and one that skips ahead must
/// leave right after a block too: units that begin elsewhere are sealed. A frame that a block falls
/// into becomes two units.
#[derive(Debug)]
pub(crate) struct Icy {
    interleaver: Interleaver,
    block: Block,
    join: Arc<Preamble>,
    /// The next byte is the first after a block, or the first of all.
    follows_block: bool,
}

impl Icy {
    /// Before the first byte, where a listener may start.
    pub(crate) fn new() -> Self {
        Self {
            interleaver: Interleaver::new(METAINT),
            block: Block::empty(),
            join: Arc::default(),
            follows_block: true,
        }
    }
}

impl Packager for Icy {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        match item {
            Item::Title(title) => self.block = Block::new(title),
            Item::Sample(sample) => {
                let (join, follows_block) = (&self.join, &mut self.follows_block);
                let mut entry = |ends_with_block| {
                    if std::mem::replace(follows_block, ends_with_block) {
                        Entry::Join(Arc::clone(join))
                    } else {
                        Entry::Sealed
                    }
                };
                let mut is_open = false;
                self.interleaver
                    .push(&sample.data, &self.block, |piece| match piece {
                        Piece::Audio(bytes) => {
                            sink.put(bytes);
                            is_open = true;
                        }
                        Piece::Block(bytes) => {
                            sink.put(bytes);
                            sink.end_unit(sample.dts, entry(true));
                            is_open = false;
                        }
                    });
                if is_open {
                    sink.end_unit(sample.dts, entry(false));
                }
            }
            Item::Epoch
            | Item::Track(_)
            | Item::Header(_)
            | Item::Metadata(_)
            | Item::Script(_) => {}
        }
    }
}
