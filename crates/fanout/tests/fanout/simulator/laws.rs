//! Laws that hold in every world, whatever happens in it.

use std::time::Duration;

use fanout::{Departure, Reason};
use media::Span;

use super::agenda::What;
use super::peer::SECOND;
use super::plan::Pace;
use super::world::World;

/// Number of seconds for which a listener may be too far behind: a worker looks once a second, and so do we.
const SECONDS_OVER_MAX: u32 = 3;

/// Visits in a row that a lane may have saved up, and sends of a join.
const VISITS_SAVED_MAX: u64 = 12;

/// Steps that a worker takes in a second beside those that have a cause: its checkup.
const STEPS_SPARE: u64 = 2;

impl World {
    /// After every step.
    pub(crate) fn check_step(&self) {
        let sockets = self.sockets();
        if let Some(fault) = sockets.faults.first() {
            law!(self, false, "{fault}");
        }
        let (held, bound) = (self.fanout.log_bytes(), self.fanout.log_bytes_bound());
        law!(self, held <= bound, "logs hold {held} bytes of {bound}");
    }

    /// Once a second.
    pub(crate) fn second(&mut self) {
        self.plan(self.now + SECOND, What::Second);
        self.registry.tick(self.instant());
        self.check_books();
        self.check_lags();
        self.check_idleness();
    }

    /// No work without need.
    fn check_idleness(&self) {
        let workers = self.plan.workers as u64;
        let books = self.fanout.worker_books().iter();
        let turns = books.map(|stats| stats.turn_seconds.value().counts);
        let visits: u64 = turns.flatten().sum();
        let asked = self.tally.wakes + visits + self.sockets().reported;
        let steps = self.tally.steps + self.tally.faults;
        let spare = STEPS_SPARE * workers * (self.now / SECOND + 1);
        self.check(steps <= asked + spare, || {
            format!("{steps} steps for {asked} reasons and {spare} checkups")
        });
    }

    /// Checks that every listener that connected and has not left is there, and that all bytes sent were received.
    pub(crate) fn check_books(&self) {
        let listeners = self.fanout.listeners();
        let present = self.present;
        self.check(listeners == present, || {
            format!("{listeners} listeners in the books, {present} there")
        });
        let mut egress = 0;
        let mut departures = [0; Reason::ALL.len()];
        for stats in self.fanout.worker_books() {
            egress += stats.egress_bytes.sum();
            for (sum, count) in departures.iter_mut().zip(stats.departures.all()) {
                *sum += count;
            }
        }
        let taken = self.sockets().bytes;
        self.check(egress == taken, || {
            format!("{egress} bytes in the books, {taken} taken")
        });
        let seen = self.tally.departures;
        self.check(departures == seen, || {
            format!("{departures:?} in the books, {seen:?} seen")
        });
        // Now and then: the list is made for people.
        if (self.now / SECOND).is_multiple_of(60) {
            let records = self.fanout.directory().list().len() as u64;
            law!(self, records == present, "{records} records");
        }
    }

    /// Checks that no listener is too far behind for long, and that one that reads at once is up to date.
    fn check_lags(&mut self) {
        let is_calm = self.now >= self.troubled_until;
        let lanes: Vec<_> = self
            .lanes
            .iter()
            .map(|lane| {
                let groups: usize = self.windows(lane.id).map(|(_, groups)| groups).sum();
                (*lane.written.lock(), groups)
            })
            .collect();
        let shared = std::sync::Arc::clone(&self.sockets);
        let mut sockets = shared.lock();
        let now = self.now;
        let mut failure = None;
        let listeners = &mut self.listeners;
        self.roll.retain(|index| listeners[*index].reason.is_none());
        for &index in &self.roll {
            let listener = &mut self.listeners[index];
            let (written, groups) = lanes[listener.lane];
            let units = written.units;
            let peer = &mut sockets.peers[index];
            if listener.groups != groups {
                listener.groups = groups;
                listener.regroupings += 1;
            }
            let policy = self.plan.streams[self.lanes[listener.lane].stream].policy();
            let Some(next) = peer.reader.next else {
                continue;
            };
            let lag = Span::from_ticks(written.newest_at - peer.reader.at);
            let drop_after = policy
                .drop_after
                .max(policy.skip_after)
                .max(policy.burst + Span::from_millis(2_000));
            let is_over = lag > drop_after + Span::from_millis(200)
                && written.newest_join.is_some_and(|join| join > next);
            listener.seconds_over = if is_over && is_calm {
                listener.seconds_over + 1
            } else {
                0
            };
            if listener.seconds_over > SECONDS_OVER_MAX {
                failure = Some(format!(
                    "listener {index} ({:?}) is {} ms behind for long",
                    listener.pace,
                    lag.millis()
                ));
            }
            if listener.pace == Pace::Fast {
                let has_all = listener.units_before.is_none_or(|units| next >= units);
                if is_calm && !has_all {
                    failure = Some(format!(
                        "listener {index} waits for unit {next} of {units}, {} of which were there a second ago; {policy:?} {peer:?}",
                        listener.units_before.unwrap_or(0)
                    ));
                }
                listener.units_before =
                    Some(units).filter(|_| policy.max_wait < Duration::from_secs(1));
            }
            if index % 64 == (now / SECOND) as usize % 64 && peer.accepted < peer.taken {
                failure = Some(format!("listener {index} has taken what was not sent"));
            }
        }
        drop(sockets);
        law!(self, failure.is_none(), "{}", failure.unwrap_or_default());
    }

    /// Checks the reason of a departure, and the count of bytes sent.
    pub(crate) fn check_departure(&self, peer: usize, departure: &Departure) {
        let listener = &self.listeners[peer];
        let sockets = self.sockets();
        let end = &sockets.peers[peer];
        let is_released = listener
            .talks
            .as_ref()
            .is_some_and(|talks| talks.load(std::sync::atomic::Ordering::Relaxed));
        let (sent, counted) = (end.accepted, departure.sent_bytes);
        self.check(counted == sent, || {
            format!("listener {peer} was sent {sent} bytes, not {counted}")
        });
        let is_so = match departure.reason {
            Reason::Left => end.is_gone || listener.talks.is_some(),
            Reason::Lag => listener.pace != Pace::Fast,
            // A reader that takes everything at once loses only what there is no memory for.
            Reason::Overrun => listener.pace != Pace::Fast || self.plan.is_short_of_memory(),
            Reason::Kicked => listener.is_kicked,
            Reason::Ended => true,
            Reason::Shutdown => false,
        };
        let stream = self.stream(listener.lane);
        let written = &self.lanes[listener.lane].written;
        let facts = || format!("{listener:?}, {end:?}, {stream:?}, {written:?}");
        self.check(is_so, || {
            format!("listener {peer} leaves: {departure:?}: {}", facts())
        });
        self.check(departure.skips >= end.reader.skips, || {
            format!("listener {peer} skipped more often than it did")
        });
        let may_skip = listener.pace != Pace::Fast;
        self.check(may_skip || departure.skips == 0, || {
            format!("listener {peer} reads at once and was moved: {}", facts())
        });
        self.check(!is_released || end.reader.is_between(), || {
            format!("listener {peer} is given back in the middle of a unit")
        });
        let policy = stream.policy();
        let is_fixed = policy.min_wait == policy.max_wait && policy.max_samples == 0;
        if listener.pace == Pace::Fast && is_fixed && listener.talks.is_none() {
            let lived = Duration::from_nanos(self.now - listener.joined);
            let windows = (lived.as_nanos() / policy.max_wait.as_nanos()) as u64;
            let most = windows + VISITS_SAVED_MAX + listener.regroupings;
            let visits = end.sends;
            self.check(visits <= most, || {
                format!("listener {peer} had {visits} visits in {windows} windows")
            });
        }
    }
}
