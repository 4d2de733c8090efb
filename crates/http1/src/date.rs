//! Dates of HTTP headers.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Last second of the year 9999: an IMF-fixdate has no later years.
const LAST_SECOND: u64 = 253_402_300_799;

/// Time in seconds since 1970-01-01 00:00 UTC, displayed as an IMF-fixdate (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct HttpDate(pub u64);

impl HttpDate {
    /// Parses an IMF-fixdate. Returns `None` for anything else: the two older forms have not been sent for decades.
    pub fn parse(text: &str) -> Option<Self> {
        let date = Self::from(httpdate::parse_http_date(text).ok()?);
        (date.to_string() == text).then_some(date)
    }
}

/// Truncates to whole seconds; a time before 1970 becomes the start of 1970.
impl From<SystemTime> for HttpDate {
    fn from(at: SystemTime) -> Self {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(since.as_secs())
    }
}

impl fmt::Display for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = UNIX_EPOCH + Duration::from_secs(self.0.min(LAST_SECOND));
        httpdate::HttpDate::from(at).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_and_times_before_1970_are_cut() {
        let at = UNIX_EPOCH + Duration::from_millis(784_111_777_999);
        assert_eq!(HttpDate::from(at), HttpDate(784_111_777));
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(HttpDate::from(before), HttpDate(0));
    }

    #[test]
    fn known_instants() {
        for (seconds, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(HttpDate(seconds).to_string(), expected);
            assert_eq!(HttpDate::parse(expected), Some(HttpDate(seconds)));
        }
        for text in [
            "",
            "Sun, 06 Nov 1994",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, 06 Nov 1994 08:49:37 GMT +1",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:+7 GMT",
            "Sun, 06 Nov 1994 08:49.37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "1994-11-06T08:49:37Z",
        ] {
            assert_eq!(HttpDate::parse(text), None, "{text}");
        }
    }
}
