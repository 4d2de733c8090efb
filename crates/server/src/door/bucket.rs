//! A rate: so many per second, and at once no more than one second's worth.

use std::time::Instant;

/// What may happen now. It fills by itself.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    /// Full.
    pub(super) fn new(rate: u32, now: Instant) -> Self {
        let rate = f64::from(rate);
        Self {
            rate,
            tokens: rate,
            filled: now,
        }
    }

    /// Whether it may happen once more.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.filled);
        self.tokens = (self.tokens + since.as_secs_f64() * self.rate).min(self.rate);
        self.filled = self.filled.max(now);
        let granted = self.tokens >= 1.0;
        if granted {
            self.tokens -= 1.0;
        }
        granted
    }
}
