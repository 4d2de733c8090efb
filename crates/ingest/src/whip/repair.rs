//! How long lost packets are waited for: as long as they may still come.
//!
//! Only the sender could measure the round trip by reports. What matters here is how long it takes
//! from a request to the packet, and that is what is measured.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use container::rtp::Patience;

/// Packets may pass each other by this much before they are asked for.
const OUT_OF_ORDER: Duration = Duration::from_millis(10);

/// Requests that are remembered until they are answered: a quarter of a second of 10 Mb/s, all of
/// it lost.
const ASKED_MAX: usize = 256;

/// Requests that a packet is waited for. At one lost packet in ten, and as many of the requests
/// and of the answers, one packet in 40,000 is left missing.
const ROUNDS: u32 = 5;

/// The bounds of a round: less is jitter, more is nobody's network.
const ROUND_MIN: Duration = Duration::from_millis(20);
const ROUND_MAX: Duration = Duration::from_millis(400);

/// A round while nothing is known: what most of a continent is away.
const ROUND_FIRST: Duration = Duration::from_millis(100);

/// What a round is longer than the round trip.
const MARGIN: Duration = Duration::from_millis(10);

/// The longest that is waited, whatever the round trip: listeners see a pause of that length.
const HOLD_MAX: Duration = Duration::from_millis(1_000);

/// How long to wait for what nobody repeats: it can only be late.
const HOLD_UNREPEATED: Duration = Duration::from_millis(100);

/// One track's requests for what is lost.
#[derive(Debug)]
pub(super) struct Repair {
    is_agreed: bool,
    /// Unanswered, oldest first.
    asked: VecDeque<Asked>,
    round_trip: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    sequence: u16,
    first: Instant,
}

impl Repair {
    /// Whether the peer answers requests.
    pub(super) const fn new(is_agreed: bool) -> Self {
        Self {
            is_agreed,
            asked: VecDeque::new(),
            round_trip: None,
        }
    }

    pub(super) const fn is_agreed(&self) -> bool {
        self.is_agreed
    }

    /// How long to wait for what.
    pub(super) fn patience(&self) -> Patience {
        if !self.is_agreed {
            return Patience {
                hold: HOLD_UNREPEATED,
                // After it is given up.
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

    /// A packet was asked for.
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

    /// A packet came that is not out of the ordinary for having come; true if it had been asked for.
    ///
    /// From the first request on, so that a round trip longer than a round is found out. A request
    /// that was lost makes it seem longer than it is, which is to wait a little longer.
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

    /// The source is another one.
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

    /// What is waited after many repairs that took `round_trip`.
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
