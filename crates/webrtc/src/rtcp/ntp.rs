//! Timestamps in RTCP reports (RFC 3550 §4): seconds in 32.32 fixed point.

use std::time::Duration;

/// Seconds from the NTP epoch, 1900, to the Unix epoch.
const TO_UNIX: u64 = 2_208_988_800;

/// Returns the NTP time of this span since 1970. It wraps in 2036, as NTP's does.
pub fn ntp(since_unix: Duration) -> u64 {
    ntp_span(since_unix).wrapping_add(TO_UNIX << 32)
}

/// Converts a span between two times.
pub fn ntp_span(span: Duration) -> u64 {
    let fraction = (u64::from(span.subsec_nanos()) << 32) / 1_000_000_000;
    (span.as_secs() << 32).wrapping_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clocks_count_from_1900() {
        assert_eq!(ntp(Duration::ZERO), TO_UNIX << 32);
        let second = (TO_UNIX + 1) << 32;
        assert_eq!(ntp(Duration::from_millis(1_500)), second | 1 << 31);
    }
}
