//! Time after which a refused client may retry.

/// Minimum wait in seconds: the time that most causes of a refusal last.
const SECONDS_MIN: u64 = 5;

/// Range in seconds over which retries are spread, so that clients refused together do not return together.
const SECONDS_SPREAD: u64 = 10;

/// Returns the seconds for `Retry-After` (RFC 9110 §10.2.3): from 5 to 15, chosen by `random`.
pub const fn retry_after(random: u64) -> u64 {
    SECONDS_MIN + random % (SECONDS_SPREAD + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_the_spread_is_used() {
        let seconds: std::collections::BTreeSet<_> = (0..100).map(retry_after).collect();
        assert_eq!(seconds, (5..=15).collect());
    }
}
