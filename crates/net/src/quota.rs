//! A maximum per period, and a count of the rest: for log lines and events that strangers or defects can cause
//! at any rate. It reads no clock.

use std::time::{Duration, Instant};

/// See the module's description.
#[derive(Debug)]
pub struct Quota {
    max: u32,
    period: Duration,
    /// When the present period began.
    began: Option<Instant>,
    /// Of the present period.
    told: u32,
    /// Suppressed since the last one that was allowed.
    untold: u64,
}

impl Quota {
    /// `max` in each `period`, which begins with the first one that comes after the last period has passed.
    pub const fn new(max: u32, period: Duration) -> Self {
        Self {
            max,
            period,
            began: None,
            told: 0,
            untold: 0,
        }
    }

    /// Whether one more is allowed now; if so, how many were suppressed since the last one that was.
    pub fn take(&mut self, now: Instant) -> Option<u64> {
        let is_over = |began| now.saturating_duration_since(began) >= self.period;
        if self.began.is_none_or(is_over) {
            self.began = Some(now);
            self.told = 0;
        }
        if self.told >= self.max {
            self.untold += 1;
            return None;
        }
        self.told += 1;
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u32 = 5;
    const PERIOD: Duration = Duration::from_secs(1);

    #[test]
    fn a_flood_is_a_few_and_every_one_is_counted() {
        let start = Instant::now();
        let mut quota = Quota::new(MAX, PERIOD);
        let (mut told, mut summed) = (0, 0);
        for millisecond in 0..10_000 {
            if let Some(untold) = quota.take(start + Duration::from_millis(millisecond)) {
                told += 1;
                summed += untold;
            }
        }
        assert_eq!(told, 10 * u64::from(MAX));
        assert_eq!(told + summed + quota.untold, 10_000);
    }
}
