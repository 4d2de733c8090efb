//! Report of a station's present and past activity, as the operator sees it; and the counts of all stations.

use std::collections::VecDeque;
use std::time::SystemTime;

use base::{Counter, Labelled};
use media::Span;

use crate::station::library::Refused;
use crate::station::programme::By;
use crate::station::track::Format;

/// Most tracks that are remembered: three hours of songs.
const HISTORY_MAX: usize = 50;

base::labels! {
    /// Activity of a station.
    #[derive(Default)]
    pub enum Phase {
        /// Examining its files.
        #[default]
        Scanning = "scanning",
        /// Playing.
        Playing = "playing",
        /// Another publisher has the stream, or has just left it.
        Away = "away",
        /// Refused: it may not publish now, and tries again.
        Refused = "refused",
        /// Ended: it has played all tracks once.
        Ended = "ended",
        /// Without any file that can be played.
        Empty = "empty",
    }
}

base::labels! {
    /// Outcome of a track.
    pub enum Outcome {
        /// Played to its end.
        Played = "played",
        /// Skipped by the operator.
        Skipped = "skipped",
        /// Interrupted by another publisher.
        Interrupted = "interrupted",
        /// Unreadable.
        Failed = "failed",
    }
}

/// Track that is being played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Playing {
    /// Title that listeners receive.
    pub title: String,
    /// Name of its file in the folder or the playlist.
    pub name: String,
    /// Time at which it began.
    pub since: SystemTime,
    /// Duration, as far as it is known.
    pub length: Option<Span>,
    /// Part of the programme that chose it.
    pub by: By,
}

/// Track that was played.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Played {
    /// Description of the track.
    pub track: Playing,
    /// Outcome of playing it.
    pub outcome: Outcome,
}

/// Change of a station's track, reported as it happens. Listeners hear it up to a second later, which is how far ahead
/// of the clock a station writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change<'a> {
    /// A track begins.
    Began(&'a Playing),
    /// The current track has ended.
    Ended(&'a Played),
}

/// State of one station.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Current activity.
    pub phase: Phase,
    /// Reason for having no tracks, if its folder or playlist cannot be read.
    pub error: Option<String>,
    /// Format of all its tracks.
    pub format: Option<Format>,
    /// Number of tracks.
    pub tracks: usize,
    /// Current track.
    pub current: Option<Playing>,
    /// Title of the next track.
    pub next: Option<String>,
    /// Requested files, the next one first.
    pub requests: Vec<String>,
    /// Last tracks, newest first.
    pub history: VecDeque<Played>,
    /// Files that are not played, with reasons: the first hundred.
    pub refused: Vec<Refused>,
    /// Number of files that are not played.
    pub refused_count: usize,
}

impl Report {
    /// Ends the current track; `None` if there was none.
    pub(crate) fn end_track(&mut self, outcome: Outcome) -> Option<&Played> {
        let track = self.current.take()?;
        self.history.truncate(HISTORY_MAX - 1);
        self.history.push_front(Played { track, outcome });
        self.history.front()
    }
}

/// Counts of all stations.
#[derive(Debug, Default)]
pub struct Stats {
    /// Tracks, by their outcome.
    pub tracks: Labelled<Outcome>,
    /// Bytes of media published.
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
