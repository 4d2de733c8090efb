//! Passes over all listeners of a worker: for a report, to find some, and once a second to measure them. Nothing here
//! runs per sample.

use std::time::{Duration, Instant};

use media::Span;
use net::Slot;

use super::Worker;
use super::carousel::{Carousel, Group};
use super::listener::Listener;
use super::position::Position;
use crate::books::CHECKUP_INTERVAL;
use crate::cursor::{Reason, Verdict, judge, lag};
use crate::listener::ListenerReport;

/// Time for which a listener may still drain its bytes after its stream ended.
const ENDED_GRACE: Duration = Duration::from_secs(5);

impl Worker {
    pub(super) fn listeners(&self) -> impl Iterator<Item = (Position, &Carousel, &Listener)> {
        let lanes = self.lanes.iter().map(|(slot, lane)| (slot.index, lane));
        let all = lanes.flat_map(|(l, lane)| (0..).zip(&lane.groups).map(move |g| (l, lane, g)));
        all.flat_map(|(lane, carousel, (group, Group { members, .. }))| {
            (0..).zip(members).map(move |(index, listener)| {
                let position = Position { lane, group, index };
                (position, carousel, listener)
            })
        })
    }

    pub(crate) fn report(&self) -> Vec<ListenerReport> {
        self.listeners()
            .map(|(_, lane, listener)| ListenerReport {
                id: listener.id,
                is_waiting: false,
                sent_bytes: listener.sent_bytes,
                skips: listener.skips,
                lag: lag(&lane.view, listener.offset),
            })
            .collect()
    }

    /// Returns the slots of the listeners that fit.
    pub(super) fn slots_where(&self, fits: impl Fn(&Listener) -> bool) -> Vec<Slot> {
        let fitting = self.listeners().filter(|(_, _, listener)| fits(listener));
        fitting.map(|(_, _, listener)| listener.slot).collect()
    }

    /// Returns a lane's window as last chosen, and the number of its subgroups.
    #[cfg(feature = "testing")]
    pub(crate) fn window(&self, lane: crate::LaneId) -> Option<(Duration, usize)> {
        let index = *self.lane_index.get(&lane)?;
        let lane = self.lanes.at(index as usize)?;
        Some((lane.window, lane.groups.len()))
    }

    /// Runs the check of each second: measures how far behind each listener is, and drops those that take nothing at
    /// all.
    pub(super) fn checkup(&mut self, now: Instant) {
        self.next_checkup = now + CHECKUP_INTERVAL;
        let mut hopeless = Vec::new();
        let (mut degraded, mut in_step) = (0, 0);
        for (position, lane, listener) in self.listeners() {
            let is_degraded = listener.is_degraded(now);
            degraded += u64::from(is_degraded);
            if is_degraded != listener.is_reported_degraded.get()
                && self.links.conditions.tell(listener.id, is_degraded)
            {
                listener.is_reported_degraded.set(is_degraded);
            }
            if !listener.blocked {
                in_step += 1;
                continue;
            }
            if !listener.is_waiting() {
                self.links
                    .books
                    .sampled_lag(lag(&lane.view, listener.offset), 1);
            }
            // A listener that waits for a join point has the greatest offset of all.
            if listener.offset < lane.view.end()
                && let Verdict::Drop(reason) = judge(&lane.view, listener.offset, &lane.lane.policy)
            {
                hopeless.push((listener.slot, reason));
            } else if lane.ended_at.is_some_and(|at| now >= at + ENDED_GRACE) {
                hopeless.push((listener.slot, Reason::Ended));
            }
            debug_assert!(self.positions.get(listener.slot) == Some(&position));
        }
        self.links.books.sampled_lag(Some(Span::ZERO), in_step);
        self.links.books.degraded.set(degraded);
        for (slot, reason) in hopeless {
            if let Some(position) = self.positions.get(slot).copied() {
                self.dismiss(position, reason);
            }
        }
        self.report_departures();
    }
}
