//! One list of a station: its tracks, their order, and its part in the programme.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::hours::Hours;
use super::order::{Order, Rule};
use super::recent::Recent;
use crate::station::track::Track;

/// Part of a list in the programme.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// Rotation: takes turns with the other lists of the rotation, in proportion to the weights.
    Rotation {
        /// Share of the turns.
        weight: u32,
    },
    /// Jingles: one of its tracks comes after this many tracks of other lists.
    Every(u32),
}

/// List with its position in its order; [`choose`](Self::choose) a track, then [`take`](Self::take) it.
#[derive(Debug)]
pub(super) struct List {
    pub(super) role: Role,
    pub(super) hours: Hours,
    pub(super) tracks: Vec<Track>,
    order: Order,
    /// File of the track that began last.
    last: Option<PathBuf>,
    /// Credit in the rotation: the list with the most comes next.
    pub(super) credit: i64,
    /// Number of other lists' tracks since its own last one.
    pub(super) others: u32,
}

impl List {
    pub(super) fn new(
        (role, rule, hours): (Role, Rule, Hours),
        is_looped: bool,
        seed: u64,
    ) -> Self {
        // Jingles must not end before the songs.
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

    /// Replaces the tracks, and continues after the one that began last.
    pub(super) fn renew(&mut self, tracks: Vec<Track>) {
        let is_last = |track: &Track| self.last.as_ref() == Some(&track.path);
        // A list that has reached its end begins again.
        let last = tracks.iter().position(is_last);
        let last = last.filter(|_| self.order.has_next());
        self.order.renew(tracks.len(), last);
        self.tracks = tracks;
    }

    /// Returns whether it is its turn to come between other tracks.
    pub(super) fn is_due(&self, minute: u16) -> bool {
        matches!(self.role, Role::Every(count) if self.others >= count) && self.is_there(minute)
    }

    /// Returns its share of the rotation; `None` if it does not take part now.
    pub(super) fn weight(&self, minute: u16) -> Option<i64> {
        match self.role {
            Role::Rotation { weight } if self.is_there(minute) => Some(i64::from(weight)),
            _ => None,
        }
    }

    fn is_there(&self, minute: u16) -> bool {
        self.order.has_next() && self.hours.contain(minute)
    }

    /// Returns the place of its next track in the order, and the track. A track that was played less than `apart` ago
    /// waits, if there are others and the list is shuffled.
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

    /// Takes the track at a place in the order, which begins now.
    pub(super) fn take(&mut self, place: usize, track: &Track) {
        self.order.take(place);
        self.last = Some(track.path.clone());
    }
}
