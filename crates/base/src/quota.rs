//! A maximum per period, and a count of the rest: for log lines and events that strangers or defects can
//! cause at any rate. It reads no clock.

use std::time::{Duration, Instant};

/// Limit on events per period; call [`take`](Self::take) for each event.
#[derive(Debug)]
pub struct Quota {
    max: u32,
    period: Duration,
    /// Beginning of the present period.
    began: Option<Instant>,
    /// Events allowed in the present period.
    reported: u32,
    /// Events suppressed since the last one that was allowed.
    unreported: u64,
}

impl Quota {
    /// Creates a quota of `max` events in each `period`; a period begins with the first event after the last
    /// period has passed.
    pub const fn new(max: u32, period: Duration) -> Self {
        Self {
            max,
            period,
            began: None,
            reported: 0,
            unreported: 0,
        }
    }

    /// Returns the number of events suppressed since the last allowed one, if one more is allowed now; `None`
    /// otherwise.
    pub fn take(&mut self, now: Instant) -> Option<u64> {
        let is_over = |began| now.saturating_duration_since(began) >= self.period;
        if self.began.is_none_or(is_over) {
            self.began = Some(now);
            self.reported = 0;
        }
        if self.reported >= self.max {
            self.unreported += 1;
            return None;
        }
        self.reported += 1;
        Some(std::mem::take(&mut self.unreported))
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
        let (mut reported, mut summed) = (0, 0);
        for millisecond in 0..10_000 {
            if let Some(unreported) = quota.take(start + Duration::from_millis(millisecond)) {
                reported += 1;
                summed += unreported;
            }
        }
        assert_eq!(reported, 10 * u64::from(MAX));
        assert_eq!(reported + summed + quota.unreported, 10_000);
    }
}
