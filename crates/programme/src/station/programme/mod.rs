//! Programme of a station: the choice of the next track.
//!
//! ```text
//!  jingles that are due ─► requests ─► rotation of lists, by weight
//! ```
//!
//! Jingles come before requests, so that requests do not crowd them out: a requested track counts like any other. While
//! lists with hours take part in the rotation, lists without hours are omitted from it. The next track follows from the
//! state and the time, and is known before it is taken. Nothing here reads a clock or a file.
//!
//! [`live`](crate::station::live) calls this module, from one task for each station.

mod hours;
mod list;
mod order;
mod recent;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

pub use self::hours::Hours;
pub(crate) use self::hours::minute_of_week;
use self::list::List;
pub use self::list::Role;
pub use self::order::Rule;
use self::recent::Recent;
use crate::station::track::Track;

/// Most requests that wait: some three hours of songs, more than any listener waits for.
const REQUESTS_MAX: usize = 50;

/// Least distances between two plays of a track.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Distances {
    /// Time before a shuffled track is chosen again, if there are others.
    pub repeat: Duration,
    /// Time before a track that was played may be requested.
    pub request: Duration,
}

base::labels! {
    /// Part of the programme that chose a track.
    pub enum By {
        /// Rotation of lists.
        Rotation = "rotation",
        /// Jingle that was due after a number of tracks.
        Jingle = "jingle",
        /// Request of a listener.
        Request = "request",
    }
}

/// Reason for refusing a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RequestRefused {
    /// File that no list of the rotation has.
    #[error("the station has no such file")]
    Unknown,
    /// File that is requested already.
    #[error("it is among the requests already")]
    Waiting,
    /// File that was played too recently.
    #[error("it was played less than {} s ago", .0.as_secs())]
    Played(Duration),
    /// Too many requests are waiting.
    #[error("{REQUESTS_MAX} requests wait already")]
    Full,
    /// The station does not respond.
    #[error("the station does not take requests now")]
    Overloaded,
}

/// Lists, requests and recent plays of one station; call [`peek`](Self::peek) for the next track, and
/// [`advance`](Self::advance) to take it.
#[derive(Debug)]
pub(crate) struct Programme {
    lists: Vec<List>,
    distances: Distances,
    recent: Recent,
    requests: VecDeque<Track>,
}

/// Present time on two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Time on the clock that distances are measured with.
    pub(crate) now: Instant,
    /// Minute of the week.
    pub(crate) minute: u16,
}

/// Place of the next track.
enum Pick {
    Request,
    List { list: usize, place: usize },
}

impl Programme {
    /// Makes a programme of lists without tracks. `seed` determines their orders.
    pub(crate) fn new(
        lists: impl IntoIterator<Item = (Role, Rule, Hours)>,
        is_looped: bool,
        distances: Distances,
        seed: u64,
    ) -> Self {
        let lists = lists.into_iter().zip(0..);
        let lists =
            lists.map(|(list, number)| List::new(list, is_looped, seed.wrapping_add(number)));
        Self {
            lists: lists.collect(),
            distances,
            recent: Recent::new(distances.repeat.max(distances.request)),
            requests: VecDeque::new(),
        }
    }

    /// Replaces the tracks of each list.
    pub(crate) fn renew(&mut self, tracks: Vec<Vec<Track>>) {
        for (list, tracks) in self.lists.iter_mut().zip(tracks) {
            list.renew(tracks);
        }
        let lists = &self.lists;
        self.requests.retain(|request| {
            let mut all = lists.iter().flat_map(|list| &list.tracks);
            all.any(|track| track.path == request.path)
        });
    }

    /// Returns the next track and what chooses it; `None` if there is none.
    pub(crate) fn peek(&self, at: Moment) -> Option<(&Track, By)> {
        self.pick(at).map(|(_, track, by)| (track, by))
    }

    /// Takes the next track.
    pub(crate) fn advance(&mut self, at: Moment) -> Option<(Track, By)> {
        let (pick, track, by) = self.pick(at)?;
        let track = track.clone();
        match pick {
            Pick::Request => {
                self.requests.pop_front();
            }
            Pick::List { list, place } => {
                if by == By::Rotation {
                    self.charge(list, at.minute);
                }
                if let Some(list) = self.lists.get_mut(list) {
                    list.take(place, &track);
                    list.others = 0;
                }
            }
        }
        if by != By::Jingle {
            for list in &mut self.lists {
                list.others = list.others.saturating_add(1);
            }
        }
        self.recent.note(&track.path, at.now);
        Some((track, by))
    }

    /// Adds a request for a track of the rotation, by its name. Returns the number of requests before it.
    pub(crate) fn request(&mut self, name: &str, now: Instant) -> Result<usize, RequestRefused> {
        let rotation = self.lists.iter();
        let rotation = rotation.filter(|list| matches!(list.role, Role::Rotation { .. }));
        let mut tracks = rotation.flat_map(|list| &list.tracks);
        let track = tracks.find(|track| track.name == name);
        let track = track.ok_or(RequestRefused::Unknown)?;
        if self.requests.iter().any(|other| other.path == track.path) {
            return Err(RequestRefused::Waiting);
        }
        let age = self.recent.age(&track.path, now);
        if let Some(age) = age.filter(|age| *age < self.distances.request) {
            return Err(RequestRefused::Played(age));
        }
        if self.requests.len() >= REQUESTS_MAX {
            return Err(RequestRefused::Full);
        }
        let before = self.requests.len();
        self.requests.push_back(track.clone());
        Ok(before)
    }

    /// Returns the requested tracks, the next to be played first.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &Track> {
        self.requests.iter()
    }

    fn pick(&self, at: Moment) -> Option<(Pick, &Track, By)> {
        let of_list = |number: usize, by| {
            let list = self.lists.get(number)?;
            let (place, track) = list.choose(&self.recent, self.distances.repeat, at.now)?;
            let list = number;
            Some((Pick::List { list, place }, track, by))
        };
        if let Some(due) = self.lists.iter().position(|list| list.is_due(at.minute)) {
            return of_list(due, By::Jingle);
        }
        if let Some(track) = self.requests.front() {
            return Some((Pick::Request, track, By::Request));
        }
        let shares = self.shares(at.minute);
        let owed = shares.map(|(number, share)| {
            let credit = self.lists.get(number).map_or(0, |list| list.credit);
            (number, credit + share)
        });
        let owed: Vec<_> = owed.collect();
        // If several are owed the same, the first is taken.
        let (next, _) = *owed.iter().rev().max_by_key(|(_, owed)| *owed)?;
        of_list(next, By::Rotation)
    }

    /// Charges a turn: every list of the rotation is credited with its share, and the chosen list pays for the turn.
    /// Shares are spread evenly, `a a b a` rather than `a a a b` at three to one.
    fn charge(&mut self, chosen: usize, minute: u16) {
        let shares: Vec<_> = self.shares(minute).collect();
        let sum: i64 = shares.iter().map(|(_, share)| share).sum();
        for (number, share) in shares {
            if let Some(list) = self.lists.get_mut(number) {
                list.credit += share;
                if number == chosen {
                    list.credit -= sum;
                }
            }
        }
    }

    /// Returns the lists that are in the rotation now, by number, with their shares.
    fn shares(&self, minute: u16) -> impl Iterator<Item = (usize, i64)> {
        let there = move |list: &List| list.weight(minute);
        let mut scheduled = self.lists.iter().filter(|list| !list.hours.is_always());
        let is_scheduled = scheduled.any(|list| there(list).is_some());
        let lists = self.lists.iter().enumerate();
        let fit = lists.filter(move |(_, list)| list.hours.is_always() != is_scheduled);
        fit.filter_map(move |(number, list)| Some((number, there(list)?)))
    }
}
