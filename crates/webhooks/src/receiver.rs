//! One receiver: what waits for it, in which order, and whether it takes anything.
//!
//! The messages of a stream are a *lane*: only the first of a lane is attempted, so they arrive in their order. After
//! two failures in a row a receiver is *away*: its oldest message alone is attempted, now and then, until one is taken.
//!
//! A receiver may be there and refuse one message for ever. A message that has failed several times is therefore
//! followed at once by others, on trial: if one of these is taken, the first is set *apart*, and nothing waits for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::queue::{Delivery, Millis, millis};
use crate::schedule;

/// Deliveries to one receiver at a time: it may take long over each, and others wait behind it.
pub(crate) const IN_FLIGHT_MAX: usize = 4;

/// Failures in a row after which a receiver is away. One may be of a message alone.
const AWAY_AFTER: u32 = 2;

/// Failures of a message after which another is tried: some 20 s, so that a receiver that restarts is no reason to
/// change the order.
const SUSPECT_AFTER: u32 = 4;

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    /// Bytes of the bodies that wait for it.
    pub(crate) bytes: usize,
    /// What waits, by streams.
    lanes: BTreeMap<Arc<str>, BTreeSet<u64>>,
    /// What was refused.
    apart: BTreeSet<u64>,
    in_flight: BTreeMap<u64, Arc<str>>,
    /// Failures since it has last taken something.
    failures: u32,
    /// When it is asked again, while it is away.
    due: Millis,
    /// It has asked for nothing before then.
    paused_until: Millis,
    trial: Option<Trial>,
    /// What was last on trial.
    tried: u64,
}

/// Whether it is a message or its receiver that fails.
#[derive(Debug)]
struct Trial {
    suspect: u64,
    /// What is attempted in its place, until one is taken.
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

    /// Nothing waits for this one any more.
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

    /// What is to be attempted next, and when; `None` while there is nothing, or enough under way.
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

    /// The first of each lane of which nothing is under way.
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

    /// What was held up while it was away.
    pub(crate) fn waiting(&self) -> Vec<u64> {
        self.first().collect()
    }

    /// An attempt begins.
    pub(crate) fn start(&mut self, number: u64, stream: &Arc<str>) {
        self.in_flight.insert(number, Arc::clone(stream));
    }

    /// An attempt is over.
    pub(crate) fn land(&mut self, number: u64) {
        self.in_flight.remove(&number);
    }

    /// It takes nothing now.
    pub(crate) fn is_away(&self) -> bool {
        self.failures >= AWAY_AFTER
    }

    /// Attempts that have failed since it has last taken something.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// It has taken a message. Returns the one that it refuses, if that is known now.
    pub(crate) fn took(&mut self, number: u64) -> Option<u64> {
        let trial = self.trial.take();
        self.is_there();
        let trial = trial.filter(|it| it.is_of(number));
        trial.map(|it| it.suspect)
    }

    /// It has answered, whatever it thinks of the message.
    pub(crate) fn is_there(&mut self) {
        (self.failures, self.due, self.trial) = (0, 0, None);
    }

    /// An attempt with a message that has failed so many times by now.
    pub(crate) fn failed(&mut self, number: u64, attempts: u32, now: Millis, random: u64) {
        // Of those that were under way together, one tells that it is away.
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

    /// What may be tried in place of a message: the next one, and a further one each time, for there may be several that
    /// are refused.
    fn others(&self, suspect: u64) -> VecDeque<u64> {
        let of_lane = |lane: &BTreeSet<u64>| -> Vec<u64> {
            // Of other streams the order stays.
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

    /// It has asked to be left alone until then.
    pub(crate) fn pause(&mut self, until: Millis) {
        self.paused_until = until;
    }
}
