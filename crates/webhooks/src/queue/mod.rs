//! What is to be delivered to whom, and when: a state machine without a clock, a disk or a network. In which order a
//! receiver is told is the [receiver](crate::receiver)'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::journal::{Changes, Kept};
use crate::receiver::Receiver;
use crate::schedule;

/// Deliveries that are kept at most, of all receivers together: of a receiver that is away for three days, two a minute.
/// Each is a kilobyte or less, unless it is of many sessions.
pub(crate) const QUEUE_MAX: usize = 10_000;

/// Bytes of their bodies at most: in memory, and once more in the journal. Messages with many sessions have 16 kB each.
pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;

/// The number of a run's first delivery, if nothing of an earlier one is known. What is read later is older, and gets
/// numbers below.
const FIRST: u64 = 1 << 32;

/// Failures in a row before any message is too old: a clock that was wrong when it was told costs no message alone.
const GIVE_UP_AFTER: u32 = 10;

/// As what a message is counted that failed several times while its receiver took others: the next attempt is after
/// minutes.
const REFUSED_ATTEMPTS: u32 = 2;

/// Milliseconds since 1970. What is due must be known after a restart.
pub(crate) type Millis = u64;

/// One message to one receiver.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Delivery {
    /// Which receiver: a digest of its address.
    pub(crate) receiver: u64,
    /// The stream that it is about; empty for none. Messages about one arrive in their order.
    pub(crate) stream: Arc<str>,
    /// The message's identifier, the same in every attempt and for every receiver.
    pub(crate) id: Arc<str>,
    /// What it is about.
    pub(crate) kind: Arc<str>,
    pub(crate) body: Bytes,
    /// Attempts that have failed.
    pub(crate) attempts: u32,
    pub(crate) due: Millis,
    /// When it was told.
    pub(crate) told: Millis,
    /// The receiver refuses it, and takes others: none waits for it.
    pub(crate) is_apart: bool,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// The receiver has it.
    Taken,
    /// The receiver wants no more.
    Gone,
    /// The receiver does not take this message.
    Refused,
    /// Anything else; a receiver may say when it wants to be asked again.
    Failed { retry_after: Option<Duration> },
}

/// What follows from an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Settled {
    /// It is delivered.
    Delivered,
    /// It is tried again, at this time or a little earlier.
    Again { at: Millis },
    /// So many are not.
    GivenUp { count: u64 },
    /// Nor is anything else that waited for this receiver: so many.
    Gone { count: u64 },
    /// It has made room for newer ones meanwhile.
    Unknown,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Queue {
    /// In the order of their making.
    all: BTreeMap<u64, Delivery>,
    next: u64,
    /// Receivers that take messages.
    receivers: BTreeMap<u64, Receiver>,
    /// Of all bodies.
    bytes: usize,
    /// What the journal does not know yet.
    changed: BTreeSet<u64>,
}

impl Queue {
    pub(crate) fn new(receivers: impl Iterator<Item = u64>) -> Self {
        Self {
            all: BTreeMap::new(),
            next: FIRST,
            receivers: receivers.map(|one| (one, Receiver::default())).collect(),
            bytes: 0,
            changed: BTreeSet::new(),
        }
    }

    /// Takes in what the journal has, before or after the first deliveries of this run. Returns how many are for
    /// receivers that there are not any more; the journal is to forget those.
    pub(crate) fn restore(&mut self, kept: Kept, now: Millis) -> u64 {
        let mut orphans = 0;
        let is_late = self.next > FIRST;
        let below = FIRST - kept.deliveries.len() as u64;
        for (below, (known, mut delivery)) in (below..).zip(kept.deliveries) {
            let number = if is_late { below } else { known };
            self.next = self.next.max(number + 1);
            if !self.receivers.contains_key(&delivery.receiver) {
                self.changed.insert(number);
                orphans += 1;
                continue;
            }
            // The receiver may be there by now, and the clock may have been another.
            delivery.due = match delivery.is_apart {
                true => delivery.due.min(now + millis(schedule::RETRY_AFTER_MAX)),
                false => now,
            };
            self.insert(number, delivery);
        }
        orphans
    }

    /// Whether a receiver still takes messages.
    pub(crate) fn takes(&self, receiver: u64) -> bool {
        self.receivers.contains_key(&receiver)
    }

    /// Whether a message waits for a receiver already.
    pub(crate) fn has(&self, receiver: u64, id: &str) -> bool {
        let mut all = self.all.values();
        all.any(|one| one.receiver == receiver && &*one.id == id)
    }

    /// Adds a delivery. Those that make room for it, if need be, are the oldest of the receiver for which most waits, so that one that
    /// is told much and takes nothing costs the others nothing. Returns how many they are.
    pub(crate) fn push(&mut self, delivery: Delivery) -> u64 {
        let number = self.next;
        self.next += 1;
        self.changed.insert(number);
        self.insert(number, delivery);
        let mut dropped = 0;
        while self.all.len() > QUEUE_MAX || self.bytes > BYTES_MAX {
            let receivers = self.receivers.iter();
            let most = receivers.max_by_key(|(_, receiver)| receiver.bytes);
            let most = most.map(|(&receiver, _)| receiver);
            let oldest = self.all.iter().find(|(_, one)| Some(one.receiver) == most);
            let Some((&oldest, _)) = oldest else {
                break;
            };
            self.remove(oldest);
            dropped += 1;
        }
        dropped
    }

    fn insert(&mut self, number: u64, delivery: Delivery) {
        self.bytes += delivery.body.len();
        if let Some(receiver) = self.receivers.get_mut(&delivery.receiver) {
            receiver.add(number, &delivery);
        }
        self.all.insert(number, delivery);
    }

    fn remove(&mut self, number: u64) {
        let Some(delivery) = self.all.remove(&number) else {
            return;
        };
        self.bytes -= delivery.body.len();
        if let Some(receiver) = self.receivers.get_mut(&delivery.receiver) {
            receiver.remove(number, &delivery);
        }
        self.changed.insert(number);
    }

    /// A delivery to be attempted now.
    pub(crate) fn take_due(&mut self, now: Millis) -> Option<(u64, Delivery)> {
        let (due, number) = self.next()?;
        if due > now {
            return None;
        }
        let delivery = self.all.get(&number)?.clone();
        if let Some(receiver) = self.receivers.get_mut(&delivery.receiver) {
            receiver.start(number, &delivery.stream);
        }
        Some((number, delivery))
    }

    /// When the next attempt is due, if no answer comes before.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.next().map(|(due, _)| due)
    }

    fn next(&self) -> Option<(Millis, u64)> {
        let receivers = self.receivers.values();
        receivers.filter_map(|one| one.next(&self.all)).min()
    }

    /// What follows from an answer.
    pub(crate) fn settle(
        &mut self,
        number: u64,
        answer: Answer,
        now: Millis,
        random: u64,
    ) -> Settled {
        let Some(delivery) = self.all.get_mut(&number) else {
            return Settled::Unknown;
        };
        let id = delivery.receiver;
        let Some(receiver) = self.receivers.get_mut(&id) else {
            return Settled::Unknown;
        };
        self.changed.insert(number);
        receiver.land(number);
        let was_away = receiver.is_away();
        match answer {
            Answer::Taken => {
                let refused = receiver.took(number);
                self.remove(number);
                if let Some(refused) = refused {
                    self.set_apart(refused, REFUSED_ATTEMPTS, now, random);
                }
                if was_away {
                    self.wake(id, now);
                }
                Settled::Delivered
            }
            Answer::Gone => Settled::Gone {
                count: self.forget(id),
            },
            Answer::Refused => {
                receiver.is_there();
                let attempts = match delivery.is_apart {
                    true => delivery.attempts + 1,
                    false => 1,
                };
                if was_away {
                    self.wake(id, now);
                }
                self.set_apart(number, attempts, now, random)
            }
            Answer::Failed { retry_after } => {
                if let Some(asked) = retry_after {
                    receiver.pause(now + millis(asked.min(schedule::RETRY_AFTER_MAX)));
                }
                if delivery.is_apart {
                    let attempts = delivery.attempts + 1;
                    return self.set_apart(number, attempts, now, random);
                }
                delivery.attempts = delivery.attempts.saturating_add(1);
                let attempts = delivery.attempts;
                delivery.due = now + millis(schedule::backoff(attempts, random));
                let at = delivery.due;
                receiver.failed(number, attempts, now, random);
                let is_old = receiver.failures() >= GIVE_UP_AFTER;
                match is_old.then(|| self.give_up_old(id, now)) {
                    None | Some(0) => Settled::Again { at },
                    Some(count) => Settled::GivenUp { count },
                }
            }
        }
    }

    /// A receiver refuses this one: it is tried again by the schedule, beside the others.
    fn set_apart(&mut self, number: u64, attempts: u32, now: Millis, random: u64) -> Settled {
        let Some(delivery) = self.all.get_mut(&number) else {
            return Settled::Unknown;
        };
        let Some(delay) = schedule::delay(attempts, random) else {
            self.remove(number);
            return Settled::GivenUp { count: 1 };
        };
        delivery.attempts = attempts;
        delivery.due = now + millis(delay);
        delivery.is_apart = true;
        let at = delivery.due;
        if let Some(receiver) = self.receivers.get_mut(&delivery.receiver) {
            receiver.set_apart(number, &delivery.stream);
        }
        self.changed.insert(number);
        Settled::Again { at }
    }

    /// A receiver that was away is back: what waits for it is due.
    fn wake(&mut self, receiver: u64, now: Millis) {
        let receiver = self.receivers.get(&receiver);
        for number in receiver.map(Receiver::waiting).unwrap_or_default() {
            if let Some(delivery) = self.all.get_mut(&number) {
                delivery.due = delivery.due.min(now);
            }
        }
    }

    /// Gives up what has waited for too long for a receiver that takes nothing. Returns how many they are.
    fn give_up_old(&mut self, receiver: u64, now: Millis) -> u64 {
        let oldest = now.saturating_sub(millis(schedule::PATIENCE));
        let is_old =
            |one: &Delivery| one.receiver == receiver && one.told < oldest && !one.is_apart;
        let old = self.all.iter().filter(|(_, one)| is_old(one));
        let old: Vec<u64> = old.map(|(&number, _)| number).collect();
        for number in &old {
            self.remove(*number);
        }
        old.len() as u64
    }

    /// Gives up a receiver with all that waits for it.
    fn forget(&mut self, receiver: u64) -> u64 {
        let of_receiver = self.all.iter().filter(|(_, one)| one.receiver == receiver);
        let numbers: Vec<u64> = of_receiver.map(|(&number, _)| number).collect();
        for number in &numbers {
            self.remove(*number);
        }
        self.receivers.remove(&receiver);
        numbers.len() as u64
    }

    /// What has changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Changes {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed
            .map(|number| (number, self.all.get(&number).cloned()))
            .collect()
    }

    /// All there is, for a journal that may have anything.
    pub(crate) fn take_all(&mut self) -> Changes {
        self.changed.clear();
        let all = self.all.iter();
        all.map(|(&number, one)| (number, Some(one.clone())))
            .collect()
    }

    /// Nobody wants to know what has changed.
    pub(crate) fn clear_changes(&mut self) {
        self.changed.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

pub(crate) fn millis(duration: Duration) -> Millis {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
