//! What a station is doing and has done, as the operator sees it; and what all stations have counted.

use std::collections::VecDeque;
use std::time::SystemTime;

use base::{Counter, Labelled};
use media::Span;

use crate::library::Refused;
use crate::programme::By;
use crate::track::Format;

/// Tracks that are remembered: three hours of songs.
const HISTORY_MAX: usize = 50;

base::labels! {
    /// Where a station is.
    #[derive(Default)]
    pub enum Phase {
        /// It looks into its files.
        #[default]
        Scanning = "scanning",
        /// It plays.
        Playing = "playing",
        /// Another publisher has the stream, or has left it just now.
        Away = "away",
        /// It may not publish now, and tries again.
        Refused = "refused",
        /// It has played all tracks, once.
        Ended = "ended",
        /// No file can be played.
        Empty = "empty",
    }
}

base::labels! {
    /// How a track ended.
    pub enum Outcome {
        /// It was played to its end.
        Played = "played",
        /// The operator went on to the next one.
        Skipped = "skipped",
        /// Another publisher took the stream.
        Interrupted = "interrupted",
        /// It could not be read.
        Failed = "failed",
    }
}

/// The track that is played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Playing {
    /// What listeners are told.
    pub title: String,
    /// Its file, in the folder or the playlist.
    pub name: String,
    /// When it began.
    pub since: SystemTime,
    /// How long it lasts, as far as that is known.
    pub length: Option<Span>,
    /// What chose it.
    pub by: By,
}

/// A track that was played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Played {
    /// Which.
    pub track: Playing,
    /// How it ended.
    pub outcome: Outcome,
}

/// What changes at a station's tracks, as it happens. Listeners hear it up to a second later, which is how far ahead of
/// the clock a station writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change<'a> {
    /// A track begins.
    Began(&'a Playing),
    /// The present track has ended.
    Ended(&'a Played),
}

/// See the module's description.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Where it is.
    pub phase: Phase,
    /// Why it has no tracks, if its folder or playlist cannot be read.
    pub error: Option<String>,
    /// What all its tracks are.
    pub format: Option<Format>,
    /// How many there are.
    pub tracks: usize,
    /// The present one.
    pub current: Option<Playing>,
    /// The title of the next one.
    pub next: Option<String>,
    /// The files that were requested, the next one first.
    pub requests: Vec<String>,
    /// The last tracks, the newest first.
    pub history: VecDeque<Played>,
    /// What is not played, and why: the first hundred.
    pub refused: Vec<Refused>,
    /// How many are not played.
    pub refused_count: usize,
}

impl Report {
    /// The present track has ended; `None` if there was none.
    pub(crate) fn end_track(&mut self, outcome: Outcome) -> Option<&Played> {
        let track = self.current.take()?;
        self.history.truncate(HISTORY_MAX - 1);
        self.history.push_front(Played { track, outcome });
        self.history.front()
    }
}

/// What all stations have counted.
#[derive(Debug, Default)]
pub struct Stats {
    /// Tracks that ended so.
    pub tracks: Labelled<Outcome>,
    /// Bytes of media that were published.
    pub bytes: Counter,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_bounded_and_newest_first() {
        let mut report = Report::default();
        assert_eq!(report.end_track(Outcome::Played), None);
        for number in 0..HISTORY_MAX + 3 {
            report.current = Some(Playing {
                title: number.to_string(),
                name: String::new(),
                since: SystemTime::UNIX_EPOCH,
                length: None,
                by: By::Rotation,
            });
            assert!(report.end_track(Outcome::Skipped).is_some());
        }
        let newest = report.history.front().map(|played| &played.track.title[..]);
        assert_eq!((newest, report.history.len()), (Some("52"), HISTORY_MAX));
    }
}
