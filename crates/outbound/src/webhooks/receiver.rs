//! State of one receiver: its waiting messages, their order, and whether it accepts any.
//!
//! The messages of a stream are a *lane*: only the first of a lane is attempted, so they arrive in order. After two failures in
//! a row a receiver is *away*: only its oldest message is attempted, at intervals, until one is accepted.
//!
//! A receiver may be present and refuse one message for ever. A message that has failed several times is therefore followed at
//! once by others, on trial: if one of these is accepted, the first is set *apart*, and nothing waits for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::webhooks::queue::{Delivery, Millis, millis};
use crate::webhooks::schedule;

/// Most concurrent deliveries to one receiver: it may take long over each, and others wait behind them.
pub(crate) const IN_FLIGHT_MAX: usize = 4;

/// Failures in a row after which a receiver is away. A single one may be the fault of a message.
const AWAY_AFTER: u32 = 2;

/// Failures of a message after which another one is tried: some 20 s, so that the restart of a receiver does not change the
/// order.
const SUSPECT_AFTER: u32 = 4;

/// Waiting messages and state of one receiver.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    /// Bytes of the waiting bodies.
    pub(crate) bytes: usize,
    /// Waiting messages, by stream.
    lanes: BTreeMap<Arc<str>, BTreeSet<u64>>,
    /// Messages that were refused.
    apart: BTreeSet<u64>,
    in_flight: BTreeMap<u64, Arc<str>>,
    /// Failures since the receiver last accepted a message.
    failures: u32,
    /// Time of the next attempt, while the receiver is away.
    due: Millis,
    /// End of the pause that the receiver has requested.
    paused_until: Millis,
    trial: Option<Trial>,
    /// Last message that was on trial.
    tried: u64,
}

/// Trial that shows whether a message or its receiver is at fault.
#[derive(Debug)]
struct Trial {
    suspect: u64,
    /// Messages to attempt in its place, until one is accepted.
    others: VecDeque<u64>,
}

impl Trial {
    fn is_of(&self, number: u64) -> bool {
        self.others.front() == Some(&number)
    }
}

impl Receiver {
    pub(crate) fn add(&mut self, number: u64, delivery: &Delivery) {
        self.bytes += delivery.body.len();
        match delivery.is_apart {
            true => self.apart.insert(number),
            false => {
                let lane = self.lanes.entry(Arc::clone(&delivery.stream));
                lane.or_default().insert(number)
            }
        };
    }

    pub(crate) fn remove(&mut self, number: u64, delivery: &Delivery) {
        self.bytes -= delivery.body.len();
        self.leave(number, &delivery.stream);
        self.land(number);
    }

    /// Sets a message apart, so that nothing waits for it any more.
    pub(crate) fn set_apart(&mut self, number: u64, stream: &Arc<str>) {
        self.leave(number, stream);
        self.apart.insert(number);
    }

    fn leave(&mut self, number: u64, stream: &Arc<str>) {
        self.apart.remove(&number);
        if let Some(lane) = self.lanes.get_mut(stream) {
            lane.remove(&number);
            if lane.is_empty() {
                self.lanes.remove(stream);
            }
        }
        self.trial
            .take_if(|it| it.suspect == number || it.others.contains(&number));
    }

    /// Returns the next message to attempt and its time; `None` if there is none, or if enough are in flight.
    pub(crate) fn next(&self, all: &BTreeMap<u64, Delivery>) -> Option<(Millis, u64)> {
        let most = match self.failures {
            0 => IN_FLIGHT_MAX,
            _ => 1,
        };
        if self.in_flight.len() >= most {
            return None;
        }
        let apart = || {
            self.apart
                .iter()
                .filter(|it| !self.in_flight.contains_key(*it))
        };
        let due = |number: u64| all.get(&number).map_or(Millis::MAX, |it| it.due);
        let on_trial = self.trial.as_ref().and_then(|it| it.others.front());
        let (at, number) = match on_trial {
            Some(&number) => (0, number),
            None if self.is_away() => {
                let oldest = self.first().min();
                (self.due, oldest.or_else(|| apart().next().copied())?)
            }
            None => {
                let waiting = self.first().chain(apart().copied());
                waiting.map(|number| (due(number), number)).min()?
            }
        };
        Some((at.max(self.paused_until), number))
    }

    /// Returns the first message of each lane with none in flight.
    fn first(&self) -> impl Iterator<Item = u64> {
        self.idle().filter_map(|lane| lane.first().copied())
    }

    fn idle(&self) -> impl Iterator<Item = &BTreeSet<u64>> {
        let is_idle = |stream: &Arc<str>| {
            let under_way = self.in_flight.iter();
            let mut busy = under_way.filter(|(number, _)| !self.apart.contains(*number));
            !busy.any(|(_, it)| it == stream)
        };
        let lanes = self.lanes.iter();
        lanes.filter_map(move |(stream, lane)| is_idle(stream).then_some(lane))
    }

    /// Returns the messages that were held back while the receiver was away.
    pub(crate) fn waiting(&self) -> Vec<u64> {
        self.first().collect()
    }

    /// Records the start of an attempt.
    pub(crate) fn start(&mut self, number: u64, stream: &Arc<str>) {
        self.in_flight.insert(number, Arc::clone(stream));
    }

    /// Records the end of an attempt.
    pub(crate) fn land(&mut self, number: u64) {
        self.in_flight.remove(&number);
    }

    /// Returns whether the receiver accepts nothing now.
    pub(crate) fn is_away(&self) -> bool {
        self.failures >= AWAY_AFTER
    }

    /// Returns the number of failed attempts since the receiver last accepted a message.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Records an accepted message. Returns the message the receiver refuses, if that is known now.
    pub(crate) fn took(&mut self, number: u64) -> Option<u64> {
        let trial = self.trial.take();
        self.is_there();
        let trial = trial.filter(|it| it.is_of(number));
        trial.map(|it| it.suspect)
    }

    /// Records that the receiver has responded, whatever its answer.
    pub(crate) fn is_there(&mut self) {
        (self.failures, self.due, self.trial) = (0, 0, None);
    }

    /// Records a failed attempt with a message that has failed `attempts` times by now.
    pub(crate) fn failed(&mut self, number: u64, attempts: u32, now: Millis, random: u64) {
        // Of several attempts in flight together, one failure is enough to show that the receiver is away.
        if !self.is_away() || self.in_flight.is_empty() {
            self.failures = self.failures.saturating_add(1);
        }
        let beyond = self.failures.saturating_sub(AWAY_AFTER);
        self.due = now + millis(schedule::backoff(beyond + 1, random));
        match self.trial.take() {
            Some(mut trial) if trial.is_of(number) => {
                self.tried = number;
                trial.others.pop_front();
                self.trial = Some(trial).filter(|it| !it.others.is_empty());
            }
            _ if attempts >= SUSPECT_AFTER => {
                let others = self.others(number);
                self.trial = (!others.is_empty()).then_some(Trial {
                    suspect: number,
                    others,
                });
            }
            _ => {}
        }
    }

    /// Returns the messages to try in place of a suspect: the next one, and a different further one each time, because several
    /// may be refused.
    fn others(&self, suspect: u64) -> VecDeque<u64> {
        let of_lane = |lane: &BTreeSet<u64>| -> Vec<u64> {
            // Only the first of other lanes, so that their order is kept.
            let most = if lane.contains(&suspect) {
                lane.len()
            } else {
                1
            };
            let others = lane.iter().copied().filter(|it| *it != suspect);
            others.take(most).collect()
        };
        let all: BTreeSet<u64> = self.idle().flat_map(of_lane).collect();
        let Some(&next) = all.first() else {
            return VecDeque::new();
        };
        let mut beyond = all.range(self.tried.max(next) + 1..);
        let further = beyond.next().or_else(|| all.range(next + 1..).next());
        [next].into_iter().chain(further.copied()).collect()
    }

    /// Records that the receiver has requested a pause.
    pub(crate) fn pause(&mut self, until: Millis) {
        self.paused_until = until;
    }
}
