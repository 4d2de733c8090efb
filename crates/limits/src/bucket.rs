//! Token bucket: a rate per second, and a burst, by default one second's worth.

use std::time::Instant;

/// Bucket with the tokens that are left. It refills by itself.
#[derive(Debug)]
pub struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    /// Creates a full bucket.
    pub fn new(rate: u32, now: Instant) -> Self {
        Self::with_burst(rate, rate, now)
    }

    /// Creates a full bucket with its own burst.
    pub fn with_burst(rate: u32, burst: u32, now: Instant) -> Self {
        let (rate, burst) = (f64::from(rate), f64::from(burst));
        Self {
            rate,
            burst,
            tokens: burst,
            filled: now,
        }
    }

    /// Takes a token; returns false if there is none.
    pub fn take(&mut self, now: Instant) -> bool {
        self.take_above(0.0, now)
    }

    /// Takes a token as [`take`](Self::take) does, but only from the upper half.
    pub(super) fn take_from_upper_half(&mut self, now: Instant) -> bool {
        // The lowest rates have no halves.
        self.take_above((self.burst / 2.0).min(self.burst - 1.0), now)
    }

    fn take_above(&mut self, floor: f64, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.filled);
        self.tokens = (self.tokens + since.as_secs_f64() * self.rate).min(self.burst);
        self.filled = self.filled.max(now);
        let granted = self.tokens >= floor + 1.0;
        if granted {
            self.tokens -= 1.0;
        }
        granted
    }
}
