//! Play-out: converts tracks to samples of one stream, each when it is due.
//!
//! ```text
//!  begin(track) ─┐
//!  push(chunk) ──┼─► line ─► pace ─► items of 250 ms
//!  finish() ─────┘             ▲
//!                            now ─► the next wake-up
//! ```
//!
//! A [`Line`] joins tracks to one timeline: [`Songs`] count samples over all tracks, so a join has neither a gap nor an
//! overlap; [`Films`] follow the times of their files. Samples are written at most [`LEAD`] ahead of the clock. A
//! play-out that wakes up too late continues from the present: it does not send at once what it has missed. It opens no
//! file and reads no clock.
//!
//! [`live`](crate::station::live) calls this module, from one task for each station.

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
use crate::station::track::{Format, Track};

/// Most time by which samples are written ahead of the clock: a slow disk or a late wake-up within it leaves no gap.
pub(crate) const LEAD: Duration = Duration::from_secs(1);

/// Duration of media written at once: four wake-ups per second cost nothing.
const BATCH: Duration = Duration::from_millis(250);

/// Next thing that a play-out needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    /// More of the file.
    Items,
    /// Next track.
    Track,
    /// Another call of [`step`](Playout::step) at that time.
    Time(Instant),
}

/// Joiner of tracks: one after another, as samples with times that begin at zero.
trait Line: fmt::Debug + Send {
    /// Appends the items that an epoch begins with.
    fn announce(&self, out: &mut Vec<Item>);

    /// Begins the next track, after what is left of the last one.
    fn begin(&mut self, track: &Track);

    /// Adds the next items of its file.
    fn push(&mut self, items: Vec<Item>);

    /// Ends its file.
    fn finish(&mut self);

    /// Ends the track here, and drops everything not written yet.
    fn skip(&mut self);

    /// Returns whether its file may have more.
    fn has_file(&self) -> bool;

    /// Returns the due time of the next sample that can be written.
    fn next_due(&self) -> Option<Duration>;

    /// Writes that sample.
    fn write(&mut self, out: &mut Vec<Item>);

    /// Returns how far it has come: the end of what was written, or the next sample if that is due later.
    fn reached(&self) -> Duration;

    /// Returns the number of samples written; for audio, counted at its sample rate.
    fn samples(&self) -> u64;
}

/// Play-out of one epoch: [`begin`](Self::begin) a track, then call [`step`](Self::step) and provide what it needs.
#[derive(Debug)]
pub(crate) struct Playout {
    format: Format,
    /// Time at which the first sample was presented, or would have been.
    origin: Instant,
    line: Box<dyn Line>,
    /// Title of the track that has begun, until its first sample is written.
    title: Option<Arc<Title>>,
}

impl Playout {
    /// Makes a play-out that begins now. Successive Ogg streams have different serial numbers.
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

    /// Returns the number of samples written.
    pub(crate) fn samples(&self) -> u64 {
        self.line.samples()
    }

    /// Returns the container and the media type that its listeners receive.
    pub(crate) fn container(format: Format) -> (Container, &'static str) {
        match (format.picture, format.codec) {
            (Some(_), _) => (Container::Tracks, "video/x-flv"),
            (None, Codec::Opus) => (Container::Ogg, "audio/ogg"),
            (None, Codec::Aac) => (Container::Adts, "audio/aac"),
            (None, _) => (Container::Mp3, "audio/mpeg"),
        }
    }

    /// Appends the items that an epoch begins with.
    pub(crate) fn announce(&self, out: &mut Vec<Item>) {
        self.line.announce(out);
    }

    /// Begins the next track, after what is left of the last one.
    pub(crate) fn begin(&mut self, track: &Track) {
        self.line.begin(track);
        self.title = Some(Arc::new(Title {
            text: track.title.clone(),
            url: String::new(),
        }));
    }

    /// Adds the next items of the file.
    pub(crate) fn push(&mut self, items: Vec<Item>) {
        self.line.push(items);
    }

    /// Ends the file.
    pub(crate) fn finish(&mut self) {
        self.line.finish();
    }

    /// Ends the track here.
    pub(crate) fn skip(&mut self) {
        self.line.skip();
    }

    /// Appends the items that are due to `out`, and returns what is needed next.
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
            true => Need::Items,
            false => Need::Track,
        }
    }
}
