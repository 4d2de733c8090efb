//! Points in time in the formats of logs and pages, all in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use http1::HttpDate;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Whole seconds since 1970; 0 before it.
pub(crate) fn unix_seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// `21/Nov/2026:04:54:26 +0000`, as the Common Log Format writes it.
pub(crate) fn log_date(at: SystemTime) -> String {
    let parts = Parts::of(at);
    format!(
        "{}/{}/{}:{} +0000",
        parts.day, parts.month, parts.year, parts.time
    )
}

/// `Sat, 21 Nov 2026 04:54:26 +0000`, as Icecast writes it.
pub(crate) fn rfc2822(at: SystemTime) -> String {
    HttpDate::from(at).to_string().replace("GMT", "+0000")
}

/// `2026-11-21T04:54:26+0000`, as Icecast writes it; with a `zone` of `Z`, ISO 8601 as usual.
pub(crate) fn iso8601(at: SystemTime, zone: &str) -> String {
    let parts = Parts::of(at);
    let month = MONTHS
        .iter()
        .position(|month| *month == parts.month)
        .map_or(0, |index| index + 1);
    format!(
        "{}-{month:02}-{}T{}{zone}",
        parts.year, parts.day, parts.time
    )
}

/// `2026-11-21T04:54:26.512Z`.
pub(crate) fn iso8601_millis(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    iso8601(at, &format!(".{:03}Z", since.subsec_millis()))
}

/// The pieces of an IMF-fixdate.
struct Parts {
    day: String,
    month: String,
    year: String,
    time: String,
}

impl Parts {
    fn of(at: SystemTime) -> Self {
        let text = HttpDate::from(at).to_string();
        let mut words = text.split(' ').skip(1).map(str::to_owned);
        let mut next = || words.next().unwrap_or_default();
        Self {
            day: next(),
            month: next(),
            year: next(),
            time: next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_moment_in_every_spelling() {
        let at = UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(log_date(at), "06/Nov/1994:08:49:37 +0000");
        assert_eq!(rfc2822(at), "Sun, 06 Nov 1994 08:49:37 +0000");
        assert_eq!(iso8601(at, "Z"), "1994-11-06T08:49:37Z");
        let later = at + Duration::from_micros(45_999);
        assert_eq!(iso8601_millis(later), "1994-11-06T08:49:37.045Z");
        assert_eq!(unix_seconds(UNIX_EPOCH - Duration::from_secs(1)), 0);
    }
}
