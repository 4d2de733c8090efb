//! MP3 or ADTS with titles in between, one lane for all listeners that request them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use container::icy::{Block, Interleaver, Piece};
use fanout::{Entry, LaneSink, Lead, Packager, Preamble};
use media::{Charset, Codec, Item, Title};

use crate::elementary::{Frame, Frames};

/// Audio bytes between two metadata blocks: the value that Icecast has always announced.
pub const METAINT: NonZeroUsize = match NonZeroUsize::new(16_000) {
    Some(metaint) => metaint,
    None => unreachable!(),
};

/// Packager that inserts a metadata block after each interval of audio. The block carries the title once after it has changed,
/// and is empty otherwise, because many players treat each title as a new one.
///
/// Listeners count bytes, so one may start only right after a block, and one that skips ahead must also leave right after a
/// block: units that begin elsewhere are sealed. A frame that is interrupted by a block becomes two units.
///
/// A joiner is first sent the interval before its join point, with the title in the block that ends it. Each title sent starts
/// a generation, so a listener that skips past a change is sent that interval, too.
#[derive(Debug)]
pub struct Icy {
    frames: Frames,
    interleaver: Interleaver,
    titles: Titles,
}

/// Titles sent and due, and the preambles that follow from them for joiners.
#[derive(Debug)]
struct Titles {
    /// Character set of the titles.
    charset: Charset,
    /// Content of the next block.
    due: Block,
    /// Block that carried the title in force; empty while none has been sent.
    reported: Block,
    /// Number of titles sent.
    generation: u32,
    /// Length of the block that the next byte follows, 0 before the very first byte; `None` within an interval.
    after_block: Option<usize>,
}

impl Icy {
    /// Creates a packager for the frames of a source that sends nothing else.
    pub fn over_source(charset: Charset) -> Self {
        Self::over(Frames::Source, charset)
    }

    /// Creates a packager for the first audio track that is coded as `codec`.
    pub fn over_track(codec: Codec, charset: Charset) -> Self {
        Self::over(Frames::of_track(codec), charset)
    }

    /// Creates a packager before its first byte, where a listener may start.
    fn over(frames: Frames, charset: Charset) -> Self {
        Self {
            frames,
            interleaver: Interleaver::new(METAINT),
            titles: Titles {
                charset,
                due: Block::empty(),
                reported: Block::empty(),
                generation: 0,
                after_block: Some(0),
            },
        }
    }
}

/// Writes a frame, split at the blocks.
fn write(
    frame: &Frame<'_>,
    interleaver: &mut Interleaver,
    titles: &mut Titles,
    sink: &mut LaneSink<'_>,
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
    /// Schedules `title` for the next block, unless it is the one sent last.
    fn announce(&mut self, title: &Title) {
        let is_known = title.is_empty() && self.reported.is_empty();
        let block = Some(Block::new(title, self.charset))
            .filter(|block| !is_known && *block != self.reported);
        self.due = block.unwrap_or(const { Block::empty() });
    }

    /// Returns which listeners may start or leave at the start of the unit that ends now. `block` is the length of the block at
    /// its end, if any.
    fn entry(&mut self, block: Option<usize>) -> Entry {
        let Some(gap) = std::mem::replace(&mut self.after_block, block) else {
            return Entry::Sealed;
        };
        let lead = (!self.reported.is_empty()).then(|| Lead::new(METAINT.get(), gap));
        Entry::Join(Arc::new(Preamble {
            bytes: lead
                .as_ref()
                .map_or_else(Bytes::new, |_| self.reported.bytes().clone()),
            resume_from: 0,
            generation: self.generation,
            lead,
        }))
    }

    /// Records that the block that was due is in the log.
    fn tell(&mut self) {
        if !self.due.is_empty() {
            self.reported = std::mem::replace(&mut self.due, Block::empty());
            self.generation = self.generation.wrapping_add(1);
        }
    }
}

impl Packager for Icy {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        match item {
            // The next publisher's programme has its own titles.
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
