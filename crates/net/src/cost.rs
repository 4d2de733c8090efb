//! Usual cost of repeated work, such as a visit to a subgroup or reading a publisher; it determines the time
//! between two turns.

use std::time::Duration;

/// Number of measurements whose median is the usual cost: up to four expensive ones in a row change nothing,
/// and an audience that has grown is known after five.
const RECENT: usize = 9;

/// Weight of a new usual cost against the old ones.
const WEIGHT: f64 = 0.1;

/// Estimate of the usual cost of repeated work, from the latest measurements.
#[derive(Debug, Default)]
pub struct UsualCost {
    recent: [Duration; RECENT],
    measurements: usize,
    smoothed: Duration,
}

impl UsualCost {
    /// Records a measurement in CPU time.
    #[inline]
    pub fn learn(&mut self, measured: Duration) {
        self.recent[self.measurements % RECENT] = measured;
        self.measurements += 1;
        let usual = self.usual();
        self.smoothed = if self.smoothed.is_zero() {
            usual
        } else {
            self.smoothed.mul_f64(1.0 - WEIGHT) + usual.mul_f64(WEIGHT)
        };
    }

    /// Returns the expected CPU time of the next run.
    #[inline]
    pub fn get(&self) -> Duration {
        self.smoothed
    }

    /// Returns the median of the recent measurements.
    fn usual(&self) -> Duration {
        let mut recent = self.recent;
        let known = &mut recent[..self.measurements.min(RECENT)];
        known.sort_unstable();
        known.get(known.len() / 2).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_millis(2);

    fn learned(costs: impl IntoIterator<Item = Duration>) -> UsualCost {
        let mut cost = UsualCost::default();
        costs.into_iter().for_each(|measured| cost.learn(measured));
        cost
    }

    #[test]
    fn dear_visits_among_usual_ones_change_nothing() {
        let every_fifth = (0..100).map(|visit| if visit % 5 == 4 { 10 * USUAL } else { USUAL });
        assert_eq!(learned(every_fifth).get(), USUAL);
    }

    #[test]
    fn a_larger_audience_is_known_after_a_few_turns() {
        let grown = [USUAL; 20].into_iter().chain([3 * USUAL; 40]);
        assert!(learned(grown).get() > USUAL * 29 / 10);
    }

    #[test]
    fn the_first_visit_is_all_there_is() {
        assert_eq!(learned([]).get(), Duration::ZERO);
        assert_eq!(learned([USUAL]).get(), USUAL);
    }
}
