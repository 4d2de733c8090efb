//! When each of many begins: evenly, at a given rate.

use std::time::Duration;

/// `count` beginnings at `per_second`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    count: u64,
    per_second: f64,
}

impl Ramp {
    pub(crate) fn new(count: u64, per_second: f64) -> Self {
        Self { count, per_second }
    }

    /// How many have begun `elapsed` after the first one.
    pub(crate) fn due(&self, elapsed: Duration) -> u64 {
        // Saturating: a rate without a limit is an infinite product.
        let begun = (elapsed.as_secs_f64() * self.per_second) as u64;
        begun.saturating_add(1).min(self.count)
    }

    /// When beginning number `index`, counted from 0, is due.
    pub(crate) fn at(&self, index: u64) -> Duration {
        Duration::try_from_secs_f64(index as f64 / self.per_second).unwrap_or(Duration::MAX)
    }

    /// From the first beginning to the last.
    pub(crate) fn length(&self) -> Duration {
        self.at(self.count.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_even() {
        let ramp = Ramp::new(5, 10.0);
        let due = |millis| ramp.due(Duration::from_millis(millis));
        assert_eq!(
            [0, 99, 101, 299, 301, 401, 9_000].map(due),
            [1, 1, 2, 3, 4, 5, 5]
        );
        assert_eq!(ramp.length(), Duration::from_millis(400));
        assert_eq!(ramp.at(2), Duration::from_millis(200));
    }

    #[test]
    fn no_members_are_no_ramp() {
        let ramp = Ramp::new(0, 10.0);
        assert_eq!(ramp.due(Duration::from_secs(1)), 0);
        assert_eq!(ramp.length(), Duration::ZERO);
    }
}
