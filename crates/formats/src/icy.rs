//! MP3 or ADTS with titles in between, one lane for all listeners that ask for them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use container::icy::{Block, Interleaver, Piece};
use fanout::{Entry, Lead, Packager, Preamble, Sink};
use media::{Charset, Codec, Item, Title};

use crate::elementary::{Frame, Frames};

/// Audio bytes between two metadata blocks: what Icecast has always announced.
pub const METAINT: NonZeroUsize = match NonZeroUsize::new(16_000) {
    Some(metaint) => metaint,
    None => unreachable!(),
};

/// Puts a metadata block after each interval of sound: the title once after it has changed, and nothing
/// otherwise, because many players take each title for a new one.
///
/// Listeners count bytes, so one may start only right after a block, and one that skips ahead must
/// leave right after a block too: units that begin elsewhere are sealed. A frame that a block falls
/// into becomes two units.
///
/// A joiner is first sent the interval before its join point, with the title in the block that ends it. Each
/// title told is a generation, so a listener that skips past a change is sent the same.
#[derive(Debug)]
pub struct Icy {
    frames: Frames,
    interleaver: Interleaver,
    titles: Titles,
}

/// The title told, the title due, and what they mean to joiners.
#[derive(Debug)]
struct Titles {
    /// In which titles are sent.
    charset: Charset,
    /// What the next block says.
    due: Block,
    /// The block that told the title in force; empty while none has been told.
    told: Block,
    /// Titles told.
    generation: u32,
    /// The length of the block that the next byte follows, 0 before the first byte of all; `None`
    /// within an interval.
    after_block: Option<usize>,
}

impl Icy {
    /// Over the frames of a source that sends nothing else.
    pub fn over_source(charset: Charset) -> Self {
        Self::over(Frames::Source, charset)
    }

    /// Over the first audio track that is coded as `codec`.
    pub fn over_track(codec: Codec, charset: Charset) -> Self {
        Self::over(Frames::of_track(codec), charset)
    }

    /// Before the first byte, where a listener may start.
    fn over(frames: Frames, charset: Charset) -> Self {
        Self {
            frames,
            interleaver: Interleaver::new(METAINT),
            titles: Titles {
                charset,
                due: Block::empty(),
                told: Block::empty(),
                generation: 0,
                after_block: Some(0),
            },
        }
    }
}

/// Writes a frame, cut where blocks stand.
fn write(
    frame: &Frame<'_>,
    interleaver: &mut Interleaver,
    titles: &mut Titles,
    sink: &mut Sink<'_>,
) {
    let at = frame.sample.dts;
    let mut is_open = false;
    for bytes in [frame.header(), &frame.sample.data] {
        let due = titles.due.clone();
        interleaver.push(bytes, &due, |piece| match piece {
            Piece::Audio(bytes) => {
                sink.put(bytes);
                is_open |= !bytes.is_empty();
            }
            Piece::Block(bytes) => {
                sink.put(bytes);
                sink.end_unit(at, titles.entry(Some(bytes.len())));
                titles.tell();
                is_open = false;
            }
        });
    }
    if is_open {
        sink.end_unit(at, titles.entry(None));
    }
}

impl Titles {
    /// Puts `title` into the next block, unless it is the one told last.
    fn announce(&mut self, title: &Title) {
        let is_known = title.is_empty() && self.told.is_empty();
        let block =
            Some(Block::new(title, self.charset)).filter(|block| !is_known && *block != self.told);
        self.due = block.unwrap_or(const { Block::empty() });
    }

    /// Which listeners may start or leave at the start of the unit that ends now, with a block if `block` is
    /// its length.
    fn entry(&mut self, block: Option<usize>) -> Entry {
        let Some(gap) = std::mem::replace(&mut self.after_block, block) else {
            return Entry::Sealed;
        };
        let lead = (!self.told.is_empty()).then(|| Lead::new(METAINT.get(), gap));
        Entry::Join(Arc::new(Preamble {
            bytes: lead
                .as_ref()
                .map_or_else(Bytes::new, |_| self.told.bytes().clone()),
            resume_from: 0,
            generation: self.generation,
            lead,
        }))
    }

    /// The block that was due is in the log.
    fn tell(&mut self) {
        if !self.due.is_empty() {
            self.told = std::mem::replace(&mut self.due, Block::empty());
            self.generation = self.generation.wrapping_add(1);
        }
    }
}

impl Packager for Icy {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        match item {
            // The next publisher's programme has titles of its own.
            Item::Epoch => self.titles.announce(&Title::default()),
            Item::Title(title) => self.titles.announce(title),
            _ => {
                if let Some(frame) = self.frames.take(item) {
                    write(&frame, &mut self.interleaver, &mut self.titles, sink);
                }
            }
        }
    }
}
