//! Wait before the next connection attempt.

use std::time::Duration;

/// Longest wait after the first failure.
pub const DELAY_FIRST: Duration = Duration::from_secs(1);
/// Longest wait at all: a target that comes back is found within a minute, and one that never does costs next
/// to nothing.
pub const DELAY_MAX: Duration = Duration::from_secs(60);
/// Time after which a connection counts as having worked: it then failed for a reason of its own, so the wait
/// starts anew.
pub const LASTED: Duration = Duration::from_secs(30);

/// Wait that doubles with each failure in a row. A part of it is random, so that a thousand streams that lost
/// one target do not return to it at the same moment.
#[derive(Debug, Clone, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Returns the wait after an attempt that worked for `ran` (zero if it did not), with 32 random bits:
    /// between half of the full delay and all of it.
    pub fn after(&mut self, ran: Duration, random: u32) -> Duration {
        if ran >= LASTED {
            self.failures = 0;
        }
        let full = DELAY_FIRST
            .saturating_mul(1 << self.failures.min(16))
            .min(DELAY_MAX);
        self.failures = self.failures.saturating_add(1);
        let half = full / 2;
        half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_limit_and_stays_there() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..100)
            .map(|_| backoff.after(Duration::ZERO, u32::MAX))
            .collect();
        let seconds: Vec<_> = waits.iter().take(8).map(Duration::as_secs).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(waits[99], DELAY_MAX);
    }

    #[test]
    fn chance_takes_away_half_at_the_most() {
        for random in [0, 1, 0x7fff_ffff, u32::MAX] {
            let wait = Backoff::default().after(Duration::ZERO, random);
            assert!((DELAY_FIRST / 2..=DELAY_FIRST).contains(&wait), "{wait:?}");
        }
    }

    #[test]
    fn begins_anew_after_a_run_that_lasted() {
        let mut backoff = Backoff::default();
        for _ in 0..10 {
            backoff.after(LASTED - Duration::from_millis(1), 0);
        }
        assert_eq!(backoff.after(Duration::ZERO, u32::MAX), DELAY_MAX);
        assert_eq!(backoff.after(LASTED, u32::MAX), DELAY_FIRST);
    }
}
