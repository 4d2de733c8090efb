//! A single player: playlists, media and the time in; requests out. It has at most one request of each kind in progress.
//!
//! A low-latency player starts PART-HOLD-BACK behind the end, at an independent part. It fetches each further part as soon as
//! the part is listed, and lets the server hold the next version of the playlist until there is another part; a paced player
//! requests that version when the part is due. A player of whole segments starts HOLD-BACK behind the end, and reloads the
//! playlist after the target duration, or after half of it if there was nothing new. Times are of the load, in nanoseconds.

mod media;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::rc::Rc;

use super::changes;
use super::flaw::Flaw;
use super::location::{LocationError, resolve};
use super::playhead::Playhead;
use super::playlist::{ByteRange, Piece, Playlist, Position};
use super::record::Record;
use super::request::{Failure, Request};
use crate::args::Playing;

/// A time that never comes.
const NEVER: u64 = u64::MAX;
/// Interval between a failure and the repeated request, in nanoseconds.
const RETRY_INTERVAL: u64 = 1_000_000_000;
/// Interval between two requests of a paced player for a part that is late, in nanoseconds.
const PACE_RETRY: u64 = 20_000_000;
/// Number of consecutive failed requests of a kind before the player gives up. Failures of a server that will soon be back do
/// not count.
const FAILURES_MAX: u8 = 5;
/// Maximum number of playlist versions whose parts may still be on their way to a slow player.
const ANSWERS_MAX: usize = 16;

/// A player's state machine; send the requests that it returns, and pass the responses back.
#[derive(Debug, Default)]
pub(super) struct Player {
    playing: Playing,
    is_checked: bool,
    authority: Rc<str>,
    /// Path of the playlist; at first the address of the stream, which may list variants.
    path: String,
    has_variant: bool,
    playlist: Option<Rc<Playlist>>,
    is_low_latency: bool,
    /// Position of the next piece to be fetched.
    position: Position,
    map: Option<Map>,
    loading: Option<Load>,
    fetching: Option<Fetch>,
    hint: Hint,
    /// Whether the next playlist is requested without directives, because the server refused them.
    is_modest: bool,
    /// Time at which the next playlist is due.
    reload_at: u64,
    /// Time before which no media is requested.
    fetch_at: u64,
    tries: u8,
    /// Number of consecutive failures, of playlists and of media.
    failures: [u8; 2],
    /// Ends of the playlists before each blocking response, and the arrival time of that response's first byte.
    answers: VecDeque<(Position, u64)>,
    playhead: Playhead,
}

/// Initialization segment that a player's media needs to be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Map {
    uri: Box<str>,
    range: Option<ByteRange>,
}

/// A playlist request in progress.
#[derive(Clone, Copy, Debug)]
struct Load {
    at: u64,
    /// Position that the response must list.
    asked: Option<Position>,
}

/// A media request in progress.
#[derive(Debug)]
enum Fetch {
    Map(Map),
    Listed(Piece),
    /// A part that was not listed when it was requested, by its URI.
    Hinted(Box<str>),
}

/// State of the last part that was requested before it was listed.
#[derive(Debug, Default)]
enum Hint {
    #[default]
    None,
    /// The part has arrived, and is not fetched again.
    Fetched(Box<str>),
    /// The part was refused, and is fetched once it is listed.
    Refused(Box<str>),
}

impl Player {
    pub(super) fn new(
        authority: &Rc<str>,
        path: String,
        playing: Playing,
        is_checked: bool,
    ) -> Self {
        Self {
            playing,
            is_checked,
            authority: Rc::clone(authority),
            path,
            ..Self::default()
        }
    }

    /// Returns the time at which there is something to request.
    pub(super) fn due(&self) -> u64 {
        let reload = match self.loading {
            None => self.reload_at,
            Some(_) => NEVER,
        };
        match self.fetching {
            None if self.fetch_at > 0 => reload.min(self.fetch_at),
            _ => reload,
        }
    }

    /// Returns whether media is being fetched, other than its description.
    pub(super) fn is_fetching_media(&self) -> bool {
        matches!(self.fetching, Some(Fetch::Listed(_) | Fetch::Hinted(_)))
    }

    /// Returns the playlist request to send now, if any.
    pub(super) fn playlist_request(&mut self, now: u64) -> Option<Request> {
        if self.loading.is_some() || now < self.reload_at {
            return None;
        }
        let playlist = self.playlist.as_deref();
        let may_block = self.is_low_latency && !self.is_modest && !self.playing.paced;
        let blocking = playlist.filter(|_| may_block);
        let asked = blocking.map(Playlist::end);
        let mut path = self.path.clone();
        if let Some(Position { segment, part }) = asked {
            let joint = if path.contains('?') { '&' } else { '?' };
            path += &format!("{joint}_HLS_msn={segment}&_HLS_part={part}");
            // Only with media present, because a delta does not repeat its map.
            let can_skip = playlist.is_some_and(|playlist| playlist.can_skip_until.is_some());
            // A delta leaves out what is more than six target durations behind the end.
            if can_skip && self.map.is_some() && self.position.segment + 1 >= segment {
                path += "&_HLS_skip=YES";
            }
        }
        self.is_modest = false;
        self.loading = Some(Load { at: now, asked });
        Some(Request { path, range: None })
    }

    /// Follows an address that leads to variants, of which `variant` is the best.
    ///
    /// # Errors
    /// Returns an error if the address cannot be followed; the player is lost.
    pub(super) fn follow(&mut self, variant: &str) -> Result<(), String> {
        self.loading = None;
        if self.has_variant || self.playlist.is_some() {
            return Err("a variant names variants".to_owned());
        }
        self.has_variant = true;
        self.path = self.locate(variant).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Takes the playlist; the response's first byte arrived at `heard`.
    pub(super) fn update(
        &mut self,
        playlist: &Rc<Playlist>,
        heard: u64,
        now: u64,
        record: &mut Record,
    ) {
        let Some(load) = self.loading.take() else {
            return;
        };
        self.failures[0] = 0;
        record.counts.playlists += 1;
        record.counts.deltas += u64::from(playlist.skipped > 0);
        let old = self.playlist.replace(Rc::clone(playlist));
        changes::judge(old.as_deref(), playlist, self.is_checked, record);
        let (has_grown, growth) = match &old {
            None => {
                self.is_low_latency = !self.playing.whole_segments && playlist.is_low_latency();
                let (distance, hold_back) = self.choose_start(playlist);
                self.playhead = Playhead::new(distance, hold_back);
                (true, 0)
            }
            Some(old) => (playlist.end() > old.end(), playlist.since(old.end())),
        };
        if let (Some(asked), Some(old)) = (load.asked, &old) {
            if has_grown {
                self.answers.truncate(ANSWERS_MAX - 1);
                self.answers.push_front((old.end(), heard));
            }
            if playlist.end() <= asked && !playlist.is_ended {
                record.violations.count(&Flaw::Unheld);
            }
        }
        // The stream was restarted.
        if playlist.end().segment + 1 < self.position.segment {
            self.start_again(playlist, now, record);
        }
        self.reload_at = if self.playing.paced && self.is_low_latency && !playlist.is_ended {
            // The parts just listed take as long to play as they took to arrive: in step with the parts.
            load.at + growth.max(PACE_RETRY)
        } else {
            self.next_load(playlist, load.at, has_grown)
        };
        if playlist.is_ended {
            record.counts.ended += 1;
        }
    }

    /// Handles a playlist that does not arrive.
    ///
    /// # Errors
    /// Returns an error if the player gives up.
    pub(super) fn miss_playlist(
        &mut self,
        failure: &Failure,
        now: u64,
        record: &mut Record,
    ) -> Result<(), String> {
        let Some(load) = self.loading.take() else {
            return Ok(());
        };
        record.refused.count(&format_args!("playlist: {failure}"));
        if self.playlist.is_none() {
            return Err(failure.to_string());
        }
        self.reload_at = now + RETRY_INTERVAL;
        if load.asked.is_some() && *failure == Failure::Status(400) {
            record.violations.count(&Flaw::Rejected);
            self.is_modest = true;
        }
        self.count_failure(0, failure)
    }

    /// Ends the playback.
    pub(super) fn leave(&mut self, now: u64, record: &mut Record) {
        self.playhead.finish(now, record);
    }

    fn count_failure(&mut self, kind: usize, failure: &Failure) -> Result<(), String> {
        if failure.is_passing() {
            return Ok(());
        }
        self.failures[kind] += 1;
        if self.failures[kind] < FAILURES_MAX {
            return Ok(());
        }
        let what = if kind == 0 { "playlist" } else { "media" };
        Err(format!("{what}: {failure}"))
    }

    /// Returns the time at which the next playlist is due after one that was requested at `at`.
    fn next_load(&self, playlist: &Playlist, at: u64, has_grown: bool) -> u64 {
        if playlist.is_ended {
            return NEVER;
        }
        match (self.is_low_latency, has_grown) {
            (true, true) => 0,
            // The server did not hold the request: do not request it endlessly.
            (true, false) => at + playlist.part_target.unwrap_or(RETRY_INTERVAL),
            (false, true) => at + playlist.target,
            (false, false) => at + playlist.target / 2,
        }
    }

    /// Chooses the starting position. Returns its distance from the end, and the distance at which the player plays.
    fn choose_start(&mut self, playlist: &Playlist) -> (u64, u64) {
        let hold_back = playlist.distance(self.is_low_latency);
        let (position, distance) = playlist.start(hold_back, self.is_low_latency);
        self.position = position;
        self.answers.clear();
        (distance, hold_back)
    }

    /// Starts anew, because the position is no longer listed, or was never listed.
    fn start_again(&mut self, playlist: &Playlist, now: u64, record: &mut Record) {
        record.counts.jumps += 1;
        let (distance, hold_back) = self.choose_start(playlist);
        self.playhead.jump(distance, hold_back, now);
    }

    fn locate(&self, uri: &str) -> Result<String, LocationError> {
        resolve(&self.authority, &self.path, uri)
    }
}
