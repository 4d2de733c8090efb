//! Refused peers, as far as they are reported.

use std::net::SocketAddr;
use std::time::Duration;

use net::Quota;

/// Refusals that become events in a second: as many as people read. Strangers cause them, and must not push
/// everything else out of the recent events.
pub const REFUSALS_PER_SECOND: u32 = 10;

const SECOND: Duration = Duration::from_secs(1);

/// A peer that was refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Why: a value of the label `reason` of `carillon_rejected_total`.
    pub reason: &'static str,
    /// Its protocol, as far as that was known.
    pub protocol: Option<&'static str>,
    /// Where it connected from.
    pub peer: Option<SocketAddr>,
    /// Refusals before this one, of any peers, that were not reported because there were too many.
    pub others: u64,
}

/// Bounds what is reported.
pub(super) const fn quota() -> Quota {
    Quota::new(REFUSALS_PER_SECOND, SECOND)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_flood_of_refusals_is_told_as_a_number() {
        let (mut limit, now) = (quota(), Instant::now());
        for _ in 0..REFUSALS_PER_SECOND {
            assert_eq!(limit.take(now), Some(0));
        }
        for _ in 0..500 {
            assert_eq!(limit.take(now + SECOND / 2), None);
        }
        assert_eq!(limit.take(now + SECOND), Some(500));
        assert_eq!(limit.take(now + SECOND), Some(0));
    }
}
