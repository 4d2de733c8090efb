//! Clock of a stream that also runs between samples.

use std::time::{Duration, Instant};

use media::{Span, Timestamp};

/// Earliness of a unit beyond which it sets the clock. A late unit does not set it, because any network delays. Tracks share
/// the clock, so that audio and video drift together.
const TOLERANCE: Span = Span::from_millis(60);

/// Time for which every unit must be late before the source's clock is considered slow.
const PATIENCE: Duration = Duration::from_secs(4);

/// Clock of a stream between its samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct MediaClock {
    set: Option<(Timestamp, Instant)>,
    /// Lead of the earliest unit over the clock, and the time since which it is measured.
    soonest: Option<(Span, Instant)>,
}

impl MediaClock {
    /// Returns the media time at `now`; `None` before anything arrived.
    pub fn at(&self, now: Instant) -> Option<Timestamp> {
        let (at, when) = self.set?;
        let before = Span::from(when.saturating_duration_since(now));
        Some(at + Span::from(now.saturating_duration_since(when)) - before)
    }

    /// Returns the latest media time that could arrive at `now`, given the least delay of recent units.
    pub fn soonest(&self, now: Instant) -> Option<Timestamp> {
        let ahead = self.soonest.map_or(Span::ZERO, |(ahead, _)| ahead);
        Some(self.at(now)? + ahead)
    }

    /// Records that a unit of time `at` arrived.
    pub fn saw(&mut self, at: Timestamp, arrived: Instant) {
        let Some(expected) = self.at(arrived) else {
            self.set = Some((at, arrived));
            return;
        };
        let ahead = at - expected;
        if ahead > TOLERANCE {
            *self = Self {
                set: Some((at, arrived)),
                soonest: None,
            };
            return;
        }
        let (soonest, since) = self.soonest.unwrap_or((ahead, arrived));
        let soonest = soonest.max(ahead);
        self.soonest = Some((soonest, since));
        if arrived.saturating_duration_since(since) >= PATIENCE {
            if soonest.ticks() < -TOLERANCE.ticks() {
                self.set = Some((expected + soonest, arrived));
            }
            self.soonest = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn jitter_does_not_move_the_clock() {
        let start = Instant::now();
        let mut clock = MediaClock::default();
        assert_eq!(clock.at(start), None);
        for step in 0..500 {
            let late = Duration::from_millis((step * 7) % 50);
            let due = start + Duration::from_millis(step * 20);
            clock.saw(ms(step as i64 * 20), due + late);
        }
        let end = start + Duration::from_secs(10);
        assert_eq!(clock.at(end), Some(ms(10_000)));
        assert_eq!(clock.at(start - Duration::from_secs(1)), Some(ms(-1_000)));
    }

    #[test]
    fn what_was_given_at_once_counts_by_its_newest() {
        let start = Instant::now();
        let mut clock = MediaClock::default();
        for step in 0..50 {
            clock.saw(ms(step * 40), start);
        }
        let behind = ms(49 * 40) - clock.at(start).expect("it is set");
        assert!(behind <= TOLERANCE, "{behind:?}");
    }

    #[test]
    fn a_pause_of_the_source_sets_it_back_in_a_while() {
        let start = Instant::now();
        let mut clock = MediaClock::default();
        clock.saw(ms(0), start);
        // The source continues after five seconds that its clock did not count.
        let again = start + Duration::from_secs(5);
        for step in 0..250u32 {
            let at = ms(40 + i64::from(step) * 20);
            clock.saw(at, again + Duration::from_millis(20) * step);
        }
        let now = again + Duration::from_millis(4_980);
        assert_eq!(clock.at(now), Some(ms(40 + 249 * 20)));
    }
}
