//! Limits on a player's actions: a token bucket.

use std::time::Instant;

/// An amount at once, and an amount per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) burst: f64,
    pub(super) per_second: f64,
}

/// Remainder of a [`Rate`].
#[derive(Debug)]
pub(super) struct Allowance {
    rate: Rate,
    left: f64,
    at: Instant,
}

impl Allowance {
    pub(super) fn new(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            left: rate.burst,
            at: now,
        }
    }

    /// Spends `amount`; returns `false` when that was too much.
    pub(super) fn spend(&mut self, amount: usize, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        let earned = elapsed * self.rate.per_second;
        self.left = (self.left + earned).min(self.rate.burst) - amount as f64;
        self.at = now;
        self.left >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_spent_is_earned_again() {
        let rate = Rate {
            burst: 16.0,
            per_second: 4.0,
        };
        let start = Instant::now();
        let mut allowance = Allowance::new(rate, start);
        assert!(allowance.spend(16, start));
        assert!(!allowance.spend(1, start));
        let mut allowance = Allowance::new(rate, start);
        for second in 0..1_000 {
            assert!(allowance.spend(4, start + Duration::from_secs(second)));
        }
    }
}
