//! Reordering of a publisher's packets, and requests for missing ones.
//!
//! ```text
//!          next                    highest
//!           ▼                         ▼
//! … handed  │ missing │ held │ held │ missing │ held │
//! ```
//!
//! A packet is passed on as soon as all before it have been, so packets in order do not wait. A missing one is
//! requested repeatedly, and waited for at most [`Patience::hold`]. The caller takes what is available
//! ([`Reorder::pop`]) after each packet and at each [`Reorder::deadline`].

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::nack::{self, Nack};

/// Upper bound on the packets, held and missing, between the next and the highest: half a second of 20 Mb/s. If a
/// packet is farther ahead, the first missing ones are given up.
pub const PACKETS_MAX: usize = 1_024;

/// Upper bound on the requests for one packet. At one per round trip, this takes longer than the wait for any
/// publisher's packets.
const REQUESTS_MAX: u8 = 10;

/// Waiting times, all from when a packet was found missing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Patience {
    /// Wait after which the packet is lost.
    pub hold: Duration,
    /// Wait before the first request; until then, the packet may only be out of order.
    pub ask_after: Duration,
    /// Interval between requests: the round trip time, when it is known.
    pub ask_again: Duration,
}

impl Default for Patience {
    /// Suits publishers anywhere: two requests at the longest round trip times on land.
    fn default() -> Self {
        Self {
            hold: Duration::from_millis(500),
            ask_after: Duration::from_millis(5),
            ask_again: Duration::from_millis(60),
        }
    }
}

/// Next output of the buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arrival<T> {
    /// The next packet.
    Packet(T),
    /// One or more packets are given up.
    Lost,
}

/// Counts of packets.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Packets that arrived in time.
    pub received: u64,
    /// Packets received that had been requested.
    pub recovered: u64,
    /// Packets that arrived twice, or after they were given up.
    pub superfluous: u64,
    /// Packets that arrived with an implausible number.
    pub astray: u64,
    /// Packets that never arrived.
    pub lost: u64,
}

/// Reorder buffer for the packets of one sender, between the network and the depacketizer.
#[derive(Debug)]
pub struct Reorder<T> {
    patience: Patience,
    /// Unwrapped number of the front slot.
    next: i64,
    has_begun: bool,
    /// Slots, at most [`PACKETS_MAX`]; the last one is held.
    slots: VecDeque<Slot<T>>,
    missing: usize,
    /// Packets were given up before the front slot, and this has not been reported.
    has_gap: bool,
    /// Number after an implausible one. If it arrives, the sender has restarted.
    restart: Option<u16>,
    counts: Counts,
}

#[derive(Debug)]
enum Slot<T> {
    Held(T),
    Missing(Missing),
}

#[derive(Clone, Copy, Debug)]
struct Missing {
    since: Instant,
    asked: Option<Instant>,
    requests: u8,
}

impl Missing {
    /// Returns the time of the next request; `None` when the packet was requested often enough.
    fn due(&self, patience: &Patience) -> Option<Instant> {
        let due = match self.asked {
            Some(asked) => asked + patience.ask_again,
            None => self.since + patience.ask_after,
        };
        (self.requests < REQUESTS_MAX).then_some(due)
    }
}

impl<T> Reorder<T> {
    /// Creates an empty buffer.
    pub fn new(patience: Patience) -> Self {
        Self {
            patience,
            next: 0,
            has_begun: false,
            slots: VecDeque::new(),
            missing: 0,
            has_gap: false,
            restart: None,
            counts: Counts::default(),
        }
    }

    /// Changes the waiting times, also for packets that are already missing.
    pub const fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// Returns the counts so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes a packet with number `sequence` that arrived at `now`.
    pub fn push(&mut self, sequence: u16, packet: T, now: Instant) {
        if !self.has_begun {
            self.has_begun = true;
            self.next = sequence.into();
        }
        let ahead = sequence.wrapping_sub(self.next as u16) as i16;
        let Ok(mut ahead) = usize::try_from(ahead) else {
            // An old packet, or one from a sender that has restarted.
            if usize::from(ahead.unsigned_abs()) < PACKETS_MAX {
                self.counts.superfluous += 1;
            } else {
                self.astray(sequence, packet);
            }
            return;
        };
        while ahead >= PACKETS_MAX && self.give_up_front() {
            ahead -= 1;
        }
        if ahead >= PACKETS_MAX {
            return self.astray(sequence, packet);
        }
        self.restart = None;
        while self.slots.len() <= ahead {
            self.missing += 1;
            self.slots.push_back(Slot::Missing(Missing {
                since: now,
                asked: None,
                requests: 0,
            }));
        }
        match &self.slots[ahead] {
            Slot::Held(_) => {
                self.counts.superfluous += 1;
                return;
            }
            Slot::Missing(missing) => self.counts.recovered += u64::from(missing.requests > 0),
        }
        self.missing -= 1;
        self.counts.received += 1;
        self.slots[ahead] = Slot::Held(packet);
    }

    /// Handles an implausible number. Two in a row mean that the sender has restarted (RFC 3550 §A.1).
    fn astray(&mut self, sequence: u16, packet: T) {
        if self.restart != Some(sequence) {
            self.counts.astray += 1;
            self.restart = Some(sequence.wrapping_add(1));
            return;
        }
        self.restart = None;
        self.counts.lost += self.slots.len() as u64;
        self.counts.received += 1;
        self.slots.clear();
        self.slots.push_back(Slot::Held(packet));
        self.missing = 0;
        self.next = sequence.into();
        self.has_gap = true;
    }

    /// Returns the next output; `None` while it is still awaited.
    pub fn pop(&mut self, now: Instant) -> Option<Arrival<T>> {
        while let Some(Slot::Missing(missing)) = self.slots.front() {
            if now.saturating_duration_since(missing.since) < self.patience.hold {
                break;
            }
            self.give_up_front();
        }
        if std::mem::take(&mut self.has_gap) {
            return Some(Arrival::Lost);
        }
        match self.slots.pop_front()? {
            Slot::Held(packet) => {
                self.next += 1;
                Some(Arrival::Packet(packet))
            }
            missing @ Slot::Missing(_) => {
                self.slots.push_front(missing);
                None
            }
        }
    }

    /// Gives up the front slot, if it is missing; returns whether it was.
    fn give_up_front(&mut self) -> bool {
        if !matches!(self.slots.front(), Some(Slot::Missing(_))) {
            return false;
        }
        self.slots.pop_front();
        self.next += 1;
        self.missing -= 1;
        self.counts.lost += 1;
        self.has_gap = true;
        true
    }

    /// Appends the requests that are due at `now` to `out`: at most one entry for each missing packet.
    pub fn requests(&mut self, now: Instant, out: &mut Vec<Nack>) {
        if self.missing == 0 {
            return;
        }
        let patience = self.patience;
        let next = self.next;
        let due = self
            .slots
            .iter_mut()
            .enumerate()
            .filter_map(|(ahead, slot)| {
                let Slot::Missing(missing) = slot else {
                    return None;
                };
                if missing.due(&patience)? > now {
                    return None;
                }
                missing.asked = Some(now);
                missing.requests += 1;
                Some(next + ahead as i64)
            });
        out.extend(nack::nacks(due));
    }

    /// Returns the time for the next pop or request if no packet arrives before.
    pub fn deadline(&self) -> Option<Instant> {
        if self.missing == 0 {
            return None;
        }
        let missing = self.slots.iter().filter_map(|slot| match slot {
            Slot::Missing(missing) => Some(missing),
            Slot::Held(_) => None,
        });
        // The packet that is missing longest is in front.
        let lost = missing
            .clone()
            .next()
            .map(|first| first.since + self.patience.hold);
        let due = missing
            .filter_map(|missing| missing.due(&self.patience))
            .min();
        lost.into_iter().chain(due).min()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const PATIENCE: Patience = Patience {
        hold: Duration::from_millis(100),
        ask_after: Duration::from_millis(5),
        ask_again: Duration::from_millis(30),
    };

    struct Bench {
        reorder: Reorder<u16>,
        start: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                reorder: Reorder::new(PATIENCE),
                start: Instant::now(),
            }
        }

        fn at(&self, millis: u64) -> Instant {
            self.start + Duration::from_millis(millis)
        }

        fn push(&mut self, millis: u64, sequences: &[u16]) -> Vec<Option<u16>> {
            let now = self.at(millis);
            let mut out = Vec::new();
            for sequence in sequences {
                self.reorder.push(*sequence, *sequence, now);
                out.extend(self.pop(millis));
            }
            out
        }

        /// Packets, and `None` where some are lost.
        fn pop(&mut self, millis: u64) -> Vec<Option<u16>> {
            let now = self.at(millis);
            let arrivals = std::iter::from_fn(|| self.reorder.pop(now));
            let arrivals = arrivals.map(|arrival| match arrival {
                Arrival::Packet(packet) => Some(packet),
                Arrival::Lost => None,
            });
            arrivals.collect()
        }

        fn requests(&mut self, millis: u64) -> Vec<u16> {
            let mut entries = Vec::new();
            self.reorder.requests(self.at(millis), &mut entries);
            entries.iter().flat_map(|entry| entry.packets()).collect()
        }
    }

    #[test]
    fn order_is_restored_across_the_wrap() {
        let mut bench = Bench::new();
        let out = bench.push(0, &[65_534, 0, 65_535, 0, 1, 65_534]);
        assert_eq!(out, [65_534, 65_535, 0, 1].map(Some));
        assert_eq!(bench.reorder.counts().superfluous, 2);
        assert_eq!(bench.reorder.deadline(), None);
    }

    #[test]
    fn what_is_missing_is_asked_for_and_then_given_up() {
        let mut bench = Bench::new();
        assert_eq!(bench.push(0, &[10, 13, 14]), [Some(10)]);
        assert!(bench.requests(4).is_empty(), "it may be out of order");
        assert_eq!(bench.reorder.deadline(), Some(bench.at(5)));
        assert_eq!(bench.requests(5), [11, 12]);
        assert!(bench.requests(34).is_empty());
        assert_eq!(bench.push(34, &[11]), [Some(11)]);
        assert_eq!(bench.requests(35), [12]);
        assert_eq!(bench.requests(65), [12]);
        assert!(bench.pop(99).is_empty());
        assert_eq!(bench.reorder.deadline(), Some(bench.at(95)));
        assert_eq!(bench.pop(100), [None, Some(13), Some(14)]);
        assert!(bench.push(101, &[12]).is_empty(), "too late");
        let counts = bench.reorder.counts();
        assert_eq!((counts.received, counts.recovered, counts.lost), (4, 1, 1));
    }

    #[test]
    fn requests_end() {
        let mut bench = Bench::new();
        bench.reorder.set_patience(Patience {
            hold: Duration::from_secs(3_600),
            ..PATIENCE
        });
        bench.push(0, &[1, 3]);
        let asked = (0..1_000).map(|at| bench.requests(at * 30).len());
        assert_eq!(asked.sum::<usize>(), usize::from(REQUESTS_MAX));
    }

    #[test]
    fn a_sender_may_begin_anew() {
        let mut bench = Bench::new();
        bench.push(0, &[10, 11]);
        assert!(bench.push(0, &[40_000]).is_empty(), "one may be a mistake");
        assert_eq!(bench.push(0, &[12]), [Some(12)]);
        let out = bench.push(0, &[40_000, 40_001, 40_002]);
        assert_eq!(out, [None, Some(40_001), Some(40_002)]);
        assert_eq!(bench.push(0, &[5, 6, 7]), [None, Some(6), Some(7)]);
    }

    #[test]
    fn what_is_far_ahead_makes_the_missing_lost() {
        let mut bench = Bench::new();
        let all: Vec<u16> = (0..3_000).filter(|number| *number != 1).collect();
        let out = bench.push(0, &all);
        assert_eq!(out.len(), 3_000);
        assert_eq!(out[..3], [Some(0), None, Some(2)]);
        assert_eq!(bench.reorder.counts().lost, 1);
    }

    proptest! {
        #[test]
        fn all_is_handed_on_once_and_in_order(
            first: u16,
            lost in proptest::collection::btree_set(1..200u16, 0..20),
            shuffle in proptest::collection::vec(0..6usize, 200),
        ) {
            let mut order: Vec<u16> = (0..200).filter(|number| !lost.contains(number)).collect();
            for (at, by) in shuffle.into_iter().enumerate().skip(1) {
                if at + by < order.len() {
                    order.swap(at, at + by);
                }
            }
            let order: Vec<u16> = order.iter().map(|number| first.wrapping_add(*number)).collect();
            let mut bench = Bench::new();
            let mut out = bench.push(0, &order);
            let asked: BTreeSet<u16> = bench.requests(5).into_iter().collect();
            out.extend(bench.pop(100));
            let arrived: Vec<u16> = out.iter().flatten().map(|number| number.wrapping_sub(first)).collect();
            let wanted: Vec<u16> = (0..200).filter(|number| !lost.contains(number)).collect();
            prop_assert_eq!(&arrived, &wanted);
            let highest = wanted.last().copied().unwrap_or_default();
            let missing = lost.iter().filter(|number| **number < highest);
            let missing: BTreeSet<u16> = missing.map(|number| first.wrapping_add(*number)).collect();
            prop_assert_eq!(asked, missing);
            // Each hole is reported once, in its place.
            let holes = (1..200).filter(|at| lost.contains(at) && !lost.contains(&(at - 1)) && *at < highest);
            prop_assert_eq!(out.iter().filter(|packet| packet.is_none()).count(), holes.count());
        }

        #[test]
        fn hostile_numbers_stay_within_bounds(sequences in proptest::collection::vec(any::<u16>(), 0..2_000)) {
            let mut bench = Bench::new();
            for (at, sequence) in sequences.into_iter().enumerate() {
                bench.push(at as u64, &[sequence]);
                prop_assert!(bench.reorder.slots.len() <= PACKETS_MAX);
                prop_assert!(bench.requests(at as u64).len() <= PACKETS_MAX);
                let missing = bench.reorder.slots.iter();
                let missing = missing.filter(|slot| matches!(slot, Slot::Missing(_))).count();
                prop_assert_eq!(missing, bench.reorder.missing);
            }
        }
    }
}
