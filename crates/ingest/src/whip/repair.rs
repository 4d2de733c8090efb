//! Waiting times for lost packets: as long as they may still arrive.
//!
//! Only the sender could measure the round trip from reports. The relevant time here is that from a request
//! to the packet, and it is measured.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use container::rtp::Patience;

/// Lateness up to which a packet counts as out of order before it is requested.
const OUT_OF_ORDER: Duration = Duration::from_millis(10);

/// Most requests that are remembered until they are answered: a quarter of a second of 10 Mb/s, all of it
/// lost.
const ASKED_MAX: usize = 256;

/// Requests per packet. At 10 % loss of packets, requests and answers alike, one packet in 40,000 stays
/// missing.
const ROUNDS: u32 = 5;

/// Bounds of a round. Shorter times are jitter; no real network exceeds the upper bound.
const ROUND_MIN: Duration = Duration::from_millis(20);
const ROUND_MAX: Duration = Duration::from_millis(400);

/// Length of a round before one was measured: the distance to most of a continent.
const ROUND_FIRST: Duration = Duration::from_millis(100);

/// Margin of a round over the round trip.
const MARGIN: Duration = Duration::from_millis(10);

/// Longest wait, whatever the round trip: listeners see a pause of that length.
const HOLD_MAX: Duration = Duration::from_millis(1_000);

/// Wait for a packet that is not repeated: it can only be late.
const HOLD_UNREPEATED: Duration = Duration::from_millis(100);

/// Requests for the lost packets of one track.
#[derive(Debug)]
pub(super) struct Repair {
    /// Whether the peer answers requests.
    pub(super) is_agreed: bool,
    /// Unanswered requests, oldest first.
    asked: VecDeque<Asked>,
    round_trip: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    sequence: u16,
    first: Instant,
}

impl Repair {
    /// Creates the state; `is_agreed` states whether the peer answers requests.
    pub(super) const fn new(is_agreed: bool) -> Self {
        Self {
            is_agreed,
            asked: VecDeque::new(),
            round_trip: None,
        }
    }

    /// Returns the waiting times for each packet.
    pub(super) fn patience(&self) -> Patience {
        if !self.is_agreed {
            return Patience {
                hold: HOLD_UNREPEATED,
                // Later than the packet is given up.
                ask_after: 2 * HOLD_UNREPEATED,
                ask_again: HOLD_UNREPEATED,
            };
        }
        let round = match self.round_trip {
            Some(round_trip) => round_trip * 5 / 4 + MARGIN,
            None => ROUND_FIRST,
        };
        let round = round.clamp(ROUND_MIN, ROUND_MAX);
        Patience {
            hold: (OUT_OF_ORDER + ROUNDS * round).min(HOLD_MAX),
            ask_after: OUT_OF_ORDER,
            ask_again: round,
        }
    }

    /// Notes that a packet was requested.
    pub(super) fn asked(&mut self, sequence: u16, now: Instant) {
        if self.asked.iter().any(|asked| asked.sequence == sequence) {
            return;
        }
        if self.asked.len() == ASKED_MAX {
            self.asked.pop_front();
        }
        let first = now;
        self.asked.push_back(Asked { sequence, first });
    }

    /// Notes that a packet arrived; returns true if it had been requested.
    ///
    /// The time is measured from the first request on, so that a round trip longer than a round is detected.
    /// A lost request makes it seem longer than it is, which only means waiting a little longer.
    pub(super) fn came(&mut self, sequence: u16, now: Instant) -> bool {
        let place = self
            .asked
            .iter()
            .position(|asked| asked.sequence == sequence);
        let Some(asked) = place.and_then(|place| self.asked.remove(place)) else {
            return false;
        };
        let took = now.saturating_duration_since(asked.first);
        if took <= HOLD_MAX {
            let smooth = |before: Duration| (before * 7 + took) / 8;
            self.round_trip = Some(self.round_trip.map_or(took, smooth));
        }
        true
    }

    /// Forgets all requests because the source has changed.
    pub(super) fn forget(&mut self) {
        self.asked.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Returns the waiting times after many repairs that took `round_trip`.
    fn learned(round_trip: Duration) -> Patience {
        let mut repair = Repair::new(true);
        let mut now = Instant::now();
        for sequence in 0..200 {
            repair.asked(sequence, now);
            repair.asked(sequence, now + ms(5));
            now += round_trip;
            assert!(repair.came(sequence, now));
            assert!(!repair.came(sequence, now));
        }
        repair.patience()
    }

    #[test]
    fn requests_are_a_round_trip_apart_and_there_is_time_for_several() {
        for round_trip in [1, 30, 100, 150] {
            let Patience {
                hold, ask_again, ..
            } = learned(ms(round_trip));
            assert!(ask_again > ms(round_trip) && ask_again <= ms(round_trip * 2 + 20));
            assert!(hold > 4 * ms(round_trip), "{round_trip}: {hold:?}");
        }
        let far = learned(ms(900));
        assert_eq!((far.hold, far.ask_again), (HOLD_MAX, ROUND_MAX));
    }

    #[test]
    fn without_repetition_nothing_is_asked_for() {
        let patience = Repair::new(false).patience();
        assert!(patience.ask_after > patience.hold);
    }

    #[test]
    fn requests_without_answers_are_bounded() {
        let mut repair = Repair::new(true);
        let now = Instant::now();
        for sequence in 0..10_000 {
            repair.asked(sequence, now);
        }
        assert_eq!(repair.asked.len(), ASKED_MAX);
    }
}
