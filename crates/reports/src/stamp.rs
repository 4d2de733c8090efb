//! Timestamps in formats of logs and pages other than RFC 3339 (for that see [`base::date`]), all in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::date::{self, unix_seconds};
use http1::HttpDate;

/// Formats a time as in the Common Log Format: `21/Nov/2026:04:54:26 +0000`.
pub fn log_date(at: SystemTime) -> String {
    let text = HttpDate::from(at).to_string();
    let mut words = text.split(' ').skip(1);
    let [day, month, year, time] = [(); 4].map(|()| words.next().unwrap_or_default());
    format!("{day}/{month}/{year}:{time} +0000")
}

/// Formats a time as Icecast does: `Sat, 21 Nov 2026 04:54:26 +0000`.
pub fn rfc2822(at: SystemTime) -> String {
    HttpDate::from(at).to_string().replace("GMT", "+0000")
}

/// Parses the format of [`date::rfc3339`]; fractions of a second are cut.
pub fn parse_iso8601(text: &str) -> Option<SystemTime> {
    let is_plain = text.ends_with('Z') && text.get(10..11) == Some("T");
    let at = date::parse(text).filter(|_| is_plain)?;
    Some(UNIX_EPOCH + Duration::from_secs(unix_seconds(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_moment_in_every_spelling() {
        let at = UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(log_date(at), "06/Nov/1994:08:49:37 +0000");
        assert_eq!(rfc2822(at), "Sun, 06 Nov 1994 08:49:37 +0000");
        assert_eq!(parse_iso8601("1994-11-06T08:49:37Z"), Some(at));
        assert_eq!(parse_iso8601("1994-11-06T08:49:37.045Z"), Some(at));
        for other in ["Z", "1994-11-06T08:49:37+00:00", "1994-11-06 08:49:37Z"] {
            assert_eq!(parse_iso8601(other), None, "{other}");
        }
    }
}
