//! What is to be delivered to whom, and when: a state machine without a clock, a disk or a network.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::schedule;

/// Deliveries that are kept at most, of all receivers together: of a receiver that is away for the three days of the
/// schedule, two a minute. Each is a kilobyte or less, unless it is of many sessions, and is looked at whenever one is due, which costs
/// less than posting it.
pub(crate) const QUEUE_MAX: usize = 10_000;

/// Bytes of their bodies at most: in memory, and once more in the journal. Messages with many sessions have 16 kB each.
pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;

/// Deliveries to one receiver at a time: it may take long over each, and others wait behind it.
const IN_FLIGHT_MAX: usize = 4;

/// Milliseconds since 1970. What is due must be known after a restart.
pub(crate) type Millis = u64;

/// One message to one receiver.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Delivery {
    /// Which receiver: a digest of its address.
    pub(crate) receiver: u64,
    /// The message's identifier, the same in every attempt and for every receiver.
    pub(crate) id: Arc<str>,
    /// What it is about.
    pub(crate) kind: Arc<str>,
    pub(crate) body: Bytes,
    /// Attempts that have failed.
    pub(crate) attempts: u32,
    pub(crate) due: Millis,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// The receiver has it.
    Taken,
    /// The receiver wants no more.
    Gone,
    /// Anything else; a receiver may say when it wants to be asked again.
    Failed { retry_after: Option<Duration> },
}

/// What follows from an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Settled {
    /// It is delivered.
    Delivered,
    /// It is tried again.
    Again { at: Millis },
    /// It is not.
    GivenUp,
    /// Nor is anything else that waited for this receiver: so many.
    Gone { count: u64 },
    /// It has made room for newer ones meanwhile.
    Unknown,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// In the order of their making.
    all: BTreeMap<u64, Delivery>,
    next: u64,
    /// Receivers that take messages.
    receivers: BTreeMap<u64, Receiver>,
    in_flight: BTreeSet<u64>,
    /// Of all bodies.
    bytes: usize,
    /// What the journal does not know yet.
    changed: BTreeSet<u64>,
}

#[derive(Debug, Default)]
struct Receiver {
    /// Bytes of the bodies that wait for it.
    bytes: usize,
    in_flight: usize,
    /// It has asked for nothing before then.
    paused_until: Millis,
}

impl Queue {
    pub(crate) fn new(receivers: impl Iterator<Item = u64>) -> Self {
        Self {
            receivers: receivers.map(|one| (one, Receiver::default())).collect(),
            ..Self::default()
        }
    }

    /// Takes in what the journal has. False for a receiver that there is not any more; the journal is to forget it.
    pub(crate) fn restore(&mut self, number: u64, delivery: Delivery) -> bool {
        self.next = self.next.max(number + 1);
        if !self.receivers.contains_key(&delivery.receiver) {
            self.changed.insert(number);
            return false;
        }
        self.insert(number, delivery);
        true
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
            self.changed.insert(oldest);
            dropped += 1;
        }
        dropped
    }

    fn insert(&mut self, number: u64, delivery: Delivery) {
        let bytes = delivery.body.len();
        self.bytes += bytes;
        if let Some(receiver) = self.receivers.get_mut(&delivery.receiver) {
            receiver.bytes += bytes;
        }
        self.all.insert(number, delivery);
    }

    fn remove(&mut self, number: u64) {
        let Some(delivery) = self.all.remove(&number) else {
            return;
        };
        let bytes = delivery.body.len();
        self.bytes -= bytes;
        if let Some(receiver) = self.receivers.get_mut(&delivery.receiver) {
            receiver.bytes -= bytes;
        }
        self.land(number, delivery.receiver);
    }

    /// A delivery to be attempted now.
    pub(crate) fn take_due(&mut self, now: Millis) -> Option<(u64, Delivery)> {
        let is_due = |(number, delivery): &(&u64, &Delivery)| {
            !self.in_flight.contains(number) && self.due(delivery).is_some_and(|due| due <= now)
        };
        let (&number, delivery) = self.all.iter().find(is_due)?;
        let delivery = delivery.clone();
        if let Some(receiver) = self.receivers.get_mut(&delivery.receiver) {
            receiver.in_flight += 1;
        }
        self.in_flight.insert(number);
        Some((number, delivery))
    }

    /// When the next attempt is due, if no answer comes before.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        let waiting = self.all.iter();
        let waiting = waiting.filter(|(number, _)| !self.in_flight.contains(number));
        waiting.filter_map(|(_, one)| self.due(one)).min()
    }

    /// When a delivery is due; `None` while its receiver has enough to do.
    fn due(&self, delivery: &Delivery) -> Option<Millis> {
        let receiver = self.receivers.get(&delivery.receiver)?;
        let has_room = receiver.in_flight < IN_FLIGHT_MAX;
        has_room.then(|| delivery.due.max(receiver.paused_until))
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
        let receiver = delivery.receiver;
        self.changed.insert(number);
        match answer {
            Answer::Taken => {
                self.remove(number);
                Settled::Delivered
            }
            Answer::Gone => Settled::Gone {
                count: self.forget(receiver),
            },
            Answer::Failed { retry_after } => {
                delivery.attempts += 1;
                let delay = schedule::delay(delivery.attempts, random, retry_after);
                let settled = match delay {
                    Some(delay) => {
                        delivery.due = now + millis(delay);
                        Settled::Again { at: delivery.due }
                    }
                    None => {
                        self.remove(number);
                        Settled::GivenUp
                    }
                };
                self.land(number, receiver);
                if let (Some(asked), Some(paused)) =
                    (retry_after, self.receivers.get_mut(&receiver))
                {
                    paused.paused_until = now + millis(asked.min(schedule::RETRY_AFTER_MAX));
                }
                settled
            }
        }
    }

    /// An attempt is over.
    fn land(&mut self, number: u64, receiver: u64) {
        let was_in_flight = self.in_flight.remove(&number);
        if let Some(receiver) = self.receivers.get_mut(&receiver)
            && was_in_flight
        {
            receiver.in_flight -= 1;
        }
    }

    /// Gives up a receiver with all that waits for it.
    fn forget(&mut self, receiver: u64) -> u64 {
        let of_receiver = self.all.iter().filter(|(_, one)| one.receiver == receiver);
        let numbers: Vec<u64> = of_receiver.map(|(&number, _)| number).collect();
        for number in &numbers {
            self.remove(*number);
            self.changed.insert(*number);
        }
        self.receivers.remove(&receiver);
        numbers.len() as u64
    }

    /// What has changed since the last call: deliveries as they are now, or `None` for those that are no more.
    pub(crate) fn take_changes(&mut self) -> Vec<(u64, Option<Delivery>)> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed
            .map(|number| (number, self.all.get(&number).cloned()))
            .collect()
    }

    /// The journal has not taken these changes.
    pub(crate) fn give_back(&mut self, changes: &[(u64, Option<Delivery>)]) {
        self.changed
            .extend(changes.iter().map(|(number, _)| number));
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

pub(crate) fn millis(duration: Duration) -> Millis {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Answer = Answer::Failed { retry_after: None };

    fn delivery(receiver: u64, due: Millis) -> Delivery {
        Delivery {
            receiver,
            id: "msg_1".into(),
            kind: "recording.closed".into(),
            body: Bytes::from_static(b"{}"),
            attempts: 0,
            due,
        }
    }

    fn queue(receivers: u64) -> Queue {
        Queue::new(0..receivers)
    }

    #[test]
    fn a_delivery_is_tried_ten_times_by_the_schedule() {
        let mut queue = queue(1);
        let mut now = 1_000;
        queue.push(delivery(0, now));
        let mut waits = Vec::new();
        loop {
            let due = queue.next_due().expect("something is due");
            assert!(queue.take_due(due - 1).is_none());
            let before = now;
            now = due;
            waits.push((now - before) / 1_000);
            let (number, taken) = queue.take_due(now).expect("due");
            assert_eq!(taken.attempts as usize + 1, waits.len());
            assert_eq!((queue.take_due(u64::MAX), queue.next_due()), (None, None));
            match queue.settle(number, FAILED, now, 0) {
                Settled::Again { at } => assert_eq!(queue.next_due(), Some(at)),
                other => {
                    assert_eq!(other, Settled::GivenUp);
                    break;
                }
            }
        }
        let minutes = |count: u64| count * 60;
        let wanted = [0, 5, minutes(5), minutes(30), minutes(120), minutes(300)];
        assert_eq!(waits[..6], wanted);
        assert_eq!(waits[6..], [600, 840, 1_200, 1_440].map(minutes));
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_receiver_has_few_at_a_time_and_may_pause() {
        let mut queue = queue(2);
        for _ in 0..10 {
            queue.push(delivery(0, 5));
        }
        queue.push(delivery(1, 7));
        let taken: Vec<_> = std::iter::from_fn(|| queue.take_due(10)).collect();
        assert_eq!(
            taken.len(),
            IN_FLIGHT_MAX + 1,
            "the other one does not wait"
        );
        let retry_after = Some(Duration::from_secs(60));
        let failed = Answer::Failed { retry_after };
        let settled = queue.settle(taken[0].0, failed, 10, 0);
        assert_eq!(settled, Settled::Again { at: 60_010 });
        assert_eq!(
            queue.settle(taken[1].0, Answer::Taken, 11, 0),
            Settled::Delivered
        );
        assert!(queue.take_due(60_009).is_none());
        assert!(queue.take_due(60_010).is_some());
    }

    #[test]
    fn a_receiver_that_is_gone_has_no_messages() {
        let mut queue = queue(2);
        for receiver in [0, 1, 0, 0] {
            queue.push(delivery(receiver, 0));
        }
        let (number, _) = queue.take_due(0).expect("due");
        let (other, _) = queue.take_due(0).expect("due");
        queue.take_changes();
        let settled = queue.settle(number, Answer::Gone, 0, 0);
        assert_eq!(settled, Settled::Gone { count: 3 });
        assert!(!queue.takes(0) && queue.takes(1));
        assert_eq!(queue.settle(3, Answer::Taken, 0, 0), Settled::Unknown);
        assert_eq!(queue.settle(other, Answer::Taken, 0, 0), Settled::Delivered);
        let changes = queue.take_changes();
        assert_eq!(changes.len(), 4);
        assert!(changes.iter().all(|(_, now)| now.is_none()));
    }

    #[test]
    fn the_oldest_make_room() {
        let mut queue = queue(1);
        for due in 0..QUEUE_MAX as u64 {
            assert_eq!(queue.push(delivery(0, due)), 0);
        }
        let (first, _) = queue.take_due(0).expect("due");
        assert_eq!((queue.push(delivery(0, 77)), queue.len()), (1, QUEUE_MAX));
        assert_eq!(queue.settle(first, FAILED, 0, 0), Settled::Unknown);
        let taken: Vec<_> = std::iter::from_fn(|| queue.take_due(9)).collect();
        assert_eq!(
            taken.len(),
            IN_FLIGHT_MAX,
            "what was dropped holds no place"
        );
    }

    #[test]
    fn a_receiver_that_is_told_much_makes_room_for_the_others() {
        let mut queue = queue(2);
        queue.push(delivery(0, 0));
        let long = Bytes::from(vec![b'x'; 16_000]);
        let count = BYTES_MAX / long.len();
        let mut dropped = 0;
        for _ in 0..count + 10 {
            let body = long.clone();
            dropped += queue.push(Delivery {
                body,
                ..delivery(1, 0)
            });
        }
        assert!((10..=11).contains(&dropped), "{dropped}");
        assert!(queue.bytes <= BYTES_MAX);
        queue.push(delivery(0, 0));
        let of_other = queue.all.values().filter(|one| one.receiver == 0);
        assert_eq!(of_other.count(), 2);
        while let Some((number, _)) = queue.take_due(0) {
            queue.settle(number, Answer::Taken, 0, 0);
        }
        assert_eq!((queue.bytes, queue.len()), (0, 0));
    }

    #[test]
    fn what_is_restored_goes_on_where_it_was() {
        let mut before = queue(2);
        before.push(delivery(0, 5));
        before.push(delivery(1, 5));
        let (number, _) = before.take_due(5).expect("due");
        before.settle(number, FAILED, 5, 0);
        let kept = before.take_changes();
        assert!(before.take_changes().is_empty());
        before.give_back(&kept);
        assert_eq!(before.take_changes(), kept);
        // The other receiver is not configured any more.
        let mut after = queue(1);
        for (number, delivery) in kept {
            let delivery = delivery.expect("kept");
            assert_eq!(
                after.restore(number, delivery.clone()),
                delivery.receiver == 0
            );
        }
        assert_eq!(after.next_due(), Some(5_005));
        assert_eq!(after.take_changes(), [(1, None)]);
        after.push(delivery(0, 0));
        assert_eq!(after.take_due(0).map(|(number, _)| number), Some(2));
    }
}
