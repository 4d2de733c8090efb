//! Queue of deliveries: decides what is due for which receiver. A state machine without a clock, a disk or a network. The order
//! for one receiver is decided by its [receiver](crate::webhooks::receiver).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::webhooks::journal::{Changes, Kept};
use crate::webhooks::receiver::Receiver;
use crate::webhooks::schedule;

/// Most deliveries kept, for all receivers together: enough for a receiver that is away for three days, at two messages a
/// minute. Each is a kilobyte or less, unless it is about many sessions.
pub(crate) const QUEUE_MAX: usize = 10_000;

/// Most bytes of their bodies, in memory and again in the journal. Messages with many sessions have 16 kB each.
pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;

/// Number of a run's first delivery, if nothing of an earlier run is known. Deliveries read later are older, and get lower
/// numbers.
const FIRST: u64 = 1 << 32;

/// Failures in a row before messages are given up as too old, so that none is lost only because the clock was wrong when it was
/// queued.
const GIVE_UP_AFTER: u32 = 10;

/// Attempt count assigned to a message that failed several times while its receiver accepted others: the next attempt follows
/// after minutes.
const REFUSED_ATTEMPTS: u32 = 2;

/// Time in milliseconds since 1970: due times must be valid after a restart.
pub(crate) type Millis = u64;

/// One message to one receiver.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Delivery {
    /// Digest of the receiver's URL.
    pub(crate) receiver: u64,
    /// Stream of the message; empty for none. Messages about one stream arrive in order.
    pub(crate) stream: Arc<str>,
    /// Identifier of the message, the same in every attempt and for every receiver.
    pub(crate) id: Arc<str>,
    /// Kind of the message.
    pub(crate) kind: Arc<str>,
    pub(crate) body: Bytes,
    /// Number of failed attempts.
    pub(crate) attempts: u32,
    pub(crate) due: Millis,
    /// Time at which the message was queued.
    pub(crate) reported: Millis,
    /// Whether the receiver refuses this message but accepts others, so that none waits for it.
    pub(crate) is_apart: bool,
}

/// Result of an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// The receiver accepted the message.
    Taken,
    /// The receiver wants no more messages.
    Gone,
    /// The receiver refuses this message.
    Refused,
    /// Any other failure; the receiver may name a time for the next attempt.
    Failed { retry_after: Option<Duration> },
}

/// Consequence of a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Settled {
    /// The message is delivered.
    Delivered,
    /// The message is retried at this time, or a little earlier.
    Again { at: Millis },
    /// This many messages are given up.
    GivenUp { count: u64 },
    /// All messages waiting for this receiver are given up: this many.
    Gone { count: u64 },
    /// The delivery is unknown: it was dropped meanwhile to make room for newer ones.
    Unknown,
}

/// Queue of all deliveries.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Deliveries in order of creation.
    all: BTreeMap<u64, Delivery>,
    next: u64,
    /// Receivers that accept messages.
    receivers: BTreeMap<u64, Receiver>,
    /// Bytes of all bodies.
    bytes: usize,
    /// Numbers of deliveries that have changed since the last write to the journal.
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

    /// Adds the journal's contents, before or after the first deliveries of this run. Returns the number of deliveries for
    /// receivers that no longer exist; these are marked for removal from the journal.
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
            // The receiver may be back by now, and the clock may have been changed.
            delivery.due = match delivery.is_apart {
                true => delivery.due.min(now + millis(schedule::RETRY_AFTER_MAX)),
                false => now,
            };
            self.insert(number, delivery);
        }
        orphans
    }

    /// Whether a receiver still accepts messages.
    pub(crate) fn takes(&self, receiver: u64) -> bool {
        self.receivers.contains_key(&receiver)
    }

    /// Whether a message already waits for a receiver.
    pub(crate) fn has(&self, receiver: u64, id: &str) -> bool {
        let mut all = self.all.values();
        all.any(|one| one.receiver == receiver && &*one.id == id)
    }

    /// Adds a delivery. If necessary, makes room by dropping the oldest deliveries of the receiver with the most waiting bytes,
    /// so that a receiver that is sent much and accepts nothing costs the others nothing. Returns the number dropped.
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

    /// Returns a delivery to attempt now, and marks it as in flight.
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

    /// Returns the due time of the next attempt, if no result arrives before.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.next().map(|(due, _)| due)
    }

    fn next(&self) -> Option<(Millis, u64)> {
        let receivers = self.receivers.values();
        receivers.filter_map(|one| one.next(&self.all)).min()
    }

    /// Handles the result of an attempt.
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

    /// Sets a message aside that a receiver refuses: it is retried by the schedule, beside the others.
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

    /// Makes the waiting deliveries due for a receiver that is back.
    fn wake(&mut self, receiver: u64, now: Millis) {
        let receiver = self.receivers.get(&receiver);
        for number in receiver.map(Receiver::waiting).unwrap_or_default() {
            if let Some(delivery) = self.all.get_mut(&number) {
                delivery.due = delivery.due.min(now);
            }
        }
    }

    /// Gives up messages that have waited too long for a receiver that accepts nothing. Returns the number given up.
    fn give_up_old(&mut self, receiver: u64, now: Millis) -> u64 {
        let oldest = now.saturating_sub(millis(schedule::PATIENCE));
        self.remove_all(|one| one.receiver == receiver && one.reported < oldest && !one.is_apart)
    }

    /// Gives up a receiver and everything that waits for it. Returns the number given up.
    fn forget(&mut self, receiver: u64) -> u64 {
        let count = self.remove_all(|one| one.receiver == receiver);
        self.receivers.remove(&receiver);
        count
    }

    /// Removes the messages for which `is_over` returns true. Returns their number.
    fn remove_all(&mut self, is_over: impl Fn(&Delivery) -> bool) -> u64 {
        let over = self.all.iter().filter(|(_, one)| is_over(one));
        let over: Vec<u64> = over.map(|(&number, _)| number).collect();
        for number in &over {
            self.remove(*number);
        }
        over.len() as u64
    }

    /// Returns the changes since the last call.
    pub(crate) fn take_changes(&mut self) -> Changes {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed
            .map(|number| (number, self.all.get(&number).cloned()))
            .collect()
    }

    /// Returns all deliveries, for a journal whose contents are unknown.
    pub(crate) fn take_all(&mut self) -> Changes {
        self.changed.clear();
        let all = self.all.iter();
        all.map(|(&number, one)| (number, Some(one.clone())))
            .collect()
    }

    /// Drops the record of changes.
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
pub(super) mod tests;
