//! One list of a station: its tracks, their order, and how it takes part in the programme.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::hours::Hours;
use super::order::{Order, Rule};
use super::recent::Recent;
use crate::track::Track;

/// How a list takes part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// In turn with the others that do, this often in proportion to them.
    Rotation {
        /// Its share.
        weight: u32,
    },
    /// One of its tracks comes after so many of the others.
    Every(u32),
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct List {
    pub(super) role: Role,
    pub(super) hours: Hours,
    pub(super) tracks: Vec<Track>,
    order: Order,
    /// The file that was begun last.
    last: Option<PathBuf>,
    /// What a rotation owes it: the list that is owed most comes next.
    pub(super) credit: i64,
    /// Tracks of others since its own last one.
    pub(super) others: u32,
}

impl List {
    pub(super) fn new(
        (role, rule, hours): (Role, Rule, Hours),
        is_looped: bool,
        seed: u64,
    ) -> Self {
        // Jingles do not end before the songs.
        let is_looped = is_looped || matches!(role, Role::Every(_));
        Self {
            role,
            hours,
            tracks: Vec::new(),
            order: Order::new(rule, is_looped, 0, seed),
            last: None,
            credit: 0,
            others: 0,
        }
    }

    /// Goes on with other tracks, behind the one that was begun last.
    pub(super) fn renew(&mut self, tracks: Vec<Track>) {
        let is_last = |track: &Track| self.last.as_ref() == Some(&track.path);
        // After its end a list begins again.
        let last = tracks.iter().position(is_last);
        let last = last.filter(|_| self.order.has_next());
        self.order.renew(tracks.len(), last);
        self.tracks = tracks;
    }

    /// Whether it is its turn to come between others.
    pub(super) fn is_due(&self, minute: u16) -> bool {
        matches!(self.role, Role::Every(count) if self.others >= count) && self.is_there(minute)
    }

    /// Its share of a rotation; `None` if it does not take part in it now.
    pub(super) fn weight(&self, minute: u16) -> Option<i64> {
        match self.role {
            Role::Rotation { weight } if self.is_there(minute) => Some(i64::from(weight)),
            _ => None,
        }
    }

    fn is_there(&self, minute: u16) -> bool {
        self.order.has_next() && self.hours.contain(minute)
    }

    /// The place of its next track in the order, and which one that is. One that was played less than `apart` ago is
    /// left for later, if there are others and their order does not matter.
    pub(super) fn choose(
        &self,
        recent: &Recent,
        apart: Duration,
        now: Instant,
    ) -> Option<(usize, &Track)> {
        let age = |track: usize| match self.tracks.get(track) {
            Some(track) => recent.age(&track.path, now).unwrap_or(Duration::MAX),
            None => Duration::ZERO,
        };
        let (place, track) = self.order.choose(|track| age(track) >= apart, age)?;
        Some((place, self.tracks.get(track)?))
    }

    /// The track at a place in the order is begun.
    pub(super) fn take(&mut self, place: usize, track: &Track) {
        self.order.take(place);
        self.last = Some(track.path.clone());
    }
}
