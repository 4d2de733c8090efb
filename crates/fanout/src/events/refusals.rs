//! Events about refused peers, limited in rate.

use std::net::SocketAddr;
use std::time::Duration;

use base::Quota;

/// Upper bound on refusals that become events in one second: as many as people read. Strangers cause them, and must not
/// push everything else out of the recent events.
pub const REFUSALS_PER_SECOND: u32 = 10;

const SECOND: Duration = Duration::from_secs(1);

/// A refused peer.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Reason: a value of the label `reason` of `carillon_rejected_total`.
    pub reason: &'static str,
    /// Its protocol, if known by then.
    pub protocol: Option<&'static str>,
    /// Address it connected from, if known.
    pub peer: Option<SocketAddr>,
    /// Number of earlier refusals, of any peers, that were not reported because there were too many.
    pub others: u64,
}

/// Returns the rate limit on reported refusals.
pub(super) const fn quota() -> Quota {
    Quota::new(REFUSALS_PER_SECOND, SECOND)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_flood_of_refusals_is_reported_as_a_number() {
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
