//! Play-out: tracks to samples of one stream, each when it is due.
//!
//! ```text
//!  begin(track) ─┐
//!  push(chunk) ──┼─► line ─► pace ─► items of 250 ms
//!  finish() ─────┘             ▲
//!                            now ─► the next wake-up
//! ```
//!
//! A [`Line`] joins tracks to one timeline: [`Songs`] count samples, over all tracks, so a join of two has neither hole
//! nor overlap; [`Films`] follow the times of their files. What is written is [`LEAD`] ahead of the clock at most. A
//! play-out that wakes up too late goes on as at its beginning: what it missed is not sent at once. It opens no file and
//! reads no clock.
//!
//! Called by [`station`](crate::station), by one task for each station.

mod films;
mod pages;
mod songs;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use media::{Codec, Container, Item, Title};

use self::films::Films;
use self::songs::Songs;
use crate::track::{Chunk, Format, Track};

/// How far ahead of the clock samples are written at most: what a slow disk and a late wake-up may take without a gap.
pub(crate) const LEAD: Duration = Duration::from_secs(1);

/// What is written at once: a wake-up four times a second costs nothing.
const BATCH: Duration = Duration::from_millis(250);

/// What a play-out needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    /// More of the file.
    Chunk,
    /// The next track.
    Track,
    /// To be asked again at that time.
    Time(Instant),
}

/// Tracks, one after the other, as samples with times from zero on.
trait Line: fmt::Debug + Send {
    /// What an epoch begins with.
    fn announce(&self, out: &mut Vec<Item>);

    /// The next track begins, behind what is left of the last one.
    fn begin(&mut self, track: &Track);

    /// The next piece of its file.
    fn push(&mut self, chunk: Chunk);

    /// Its file has ended.
    fn finish(&mut self);

    /// It ends here: what is not written is forgotten.
    fn skip(&mut self);

    /// Whether its file may have more.
    fn has_file(&self) -> bool;

    /// When the next sample that can be written is due.
    fn next_due(&self) -> Option<Duration>;

    /// Writes that sample.
    fn write(&mut self, out: &mut Vec<Item>);

    /// How far it has come: what was written, and if nothing is due for some time, up to what is next.
    fn reached(&self) -> Duration;

    /// How many samples were written; of sound those of its sample rate.
    fn samples(&self) -> u64;
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Playout {
    format: Format,
    /// When the first sample was, or would have been, heard.
    origin: Instant,
    line: Box<dyn Line>,
    /// Of the track that has begun, until its first sample is written.
    title: Option<Arc<Title>>,
}

impl Playout {
    /// A play-out that begins now. Streams of Ogg that follow each other have different numbers.
    pub(crate) fn new(format: Format, serial: u32, now: Instant) -> Self {
        Self {
            format,
            origin: now,
            line: match format.picture {
                Some(_) => Box::new(Films::default()),
                None => Box::new(Songs::new(format, serial)),
            },
            title: None,
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Samples that have been written.
    pub(crate) fn samples(&self) -> u64 {
        self.line.samples()
    }

    /// What its listeners are sent.
    pub(crate) fn container(format: Format) -> (Container, &'static str) {
        match (format.picture, format.codec) {
            (Some(_), _) => (Container::Tracks, "video/x-flv"),
            (None, Codec::Opus) => (Container::Ogg, "audio/ogg"),
            (None, Codec::Aac) => (Container::Adts, "audio/aac"),
            (None, _) => (Container::Mp3, "audio/mpeg"),
        }
    }

    /// What an epoch begins with.
    pub(crate) fn announce(&self, out: &mut Vec<Item>) {
        self.line.announce(out);
    }

    /// The next track begins, behind what is left of the last one.
    pub(crate) fn begin(&mut self, track: &Track) {
        self.line.begin(track);
        self.title = Some(Arc::new(Title {
            text: track.title.clone(),
            url: String::new(),
        }));
    }

    /// The next piece of the file.
    pub(crate) fn push(&mut self, chunk: Chunk) {
        self.line.push(chunk);
    }

    /// The file has ended.
    pub(crate) fn finish(&mut self) {
        self.line.finish();
    }

    /// The track ends here.
    pub(crate) fn skip(&mut self) {
        self.line.skip();
    }

    /// Appends what is due to `out`, and tells what is needed next.
    pub(crate) fn step(&mut self, now: Instant, out: &mut Vec<Item>) -> Need {
        let elapsed = now.saturating_duration_since(self.origin);
        if let Some(late) = elapsed.checked_sub(self.line.reached()) {
            self.origin += late;
        }
        let until = now.saturating_duration_since(self.origin) + LEAD;
        let next = self.line.reached() + BATCH;
        if next > until {
            return Need::Time(self.origin + next - LEAD);
        }
        while let Some(due) = self.line.next_due() {
            if due > until {
                let next = self.line.reached() + BATCH;
                return Need::Time(self.origin + next.max(due) - LEAD);
            }
            out.extend(self.title.take().map(Item::Title));
            self.line.write(out);
        }
        match self.line.has_file() {
            true => Need::Chunk,
            false => Need::Track,
        }
    }
}
