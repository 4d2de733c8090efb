//! Who was turned away, as far as it is told.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Refusals that become events in a second: as many as people read. Strangers cause them, and must not
/// push everything else out of the recent events.
pub const REFUSALS_PER_SECOND: u32 = 10;

const SECOND: Duration = Duration::from_secs(1);

/// A peer that was turned away.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Why: a value of the label `reason` of `carillon_rejected_total`.
    pub reason: &'static str,
    /// What it spoke, as far as that was known.
    pub protocol: Option<&'static str>,
    /// Where it connected from.
    pub peer: Option<SocketAddr>,
    /// Refusals before this one, of whatever peers, that were not told because there were too many.
    pub others: u64,
}

/// Bounds what is told.
#[derive(Debug, Default)]
pub(super) struct Limit {
    /// When the second began that is being counted.
    since: Option<Instant>,
    told: u32,
    untold: u64,
}

impl Limit {
    /// Whether one more may be told now; with it, how many were not since the last that was.
    pub(super) fn admit(&mut self, now: Instant) -> Option<u64> {
        let is_over = |since| now.saturating_duration_since(since) >= SECOND;
        if self.since.is_none_or(is_over) {
            self.since = Some(now);
            self.told = 0;
        }
        if self.told >= REFUSALS_PER_SECOND {
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

    #[test]
    fn a_flood_of_refusals_is_told_as_a_number() {
        let (mut limit, now) = (Limit::default(), Instant::now());
        for _ in 0..REFUSALS_PER_SECOND {
            assert_eq!(limit.admit(now), Some(0));
        }
        for _ in 0..500 {
            assert_eq!(limit.admit(now + SECOND / 2), None);
        }
        assert_eq!(limit.admit(now + SECOND), Some(500));
        assert_eq!(limit.admit(now + SECOND), Some(0));
    }
}
