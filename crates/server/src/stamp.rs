//! Points in time in the formats of logs and pages, all in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

pub(crate) use http1::iso8601_millis;

/// Reads what [`iso8601`] writes with a `Z`, to the second, and fractions that are cut.
pub(crate) fn parse_iso8601(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let time = time.split_once('.').map_or(time, |(time, _)| time);
    let numbers = |text: &str, by: char| -> Option<[u64; 3]> {
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        let parts = text
            .split(by)
            .map(|part| is_digits(part).then(|| part.parse().ok())?);
        parts.collect::<Option<Vec<_>>>()?.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hours, minutes, seconds] = numbers(time, ':')?;
    if hours > 24 || minutes > 59 || seconds > 60 {
        return None;
    }
    let seconds = http1::days(year, month, day)? * 86_400 + hours * 3_600 + minutes * 60 + seconds;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
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
    use super::*;

    #[test]
    fn one_moment_in_every_spelling() {
        let at = UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(log_date(at), "06/Nov/1994:08:49:37 +0000");
        assert_eq!(rfc2822(at), "Sun, 06 Nov 1994 08:49:37 +0000");
        assert_eq!(iso8601(at, "Z"), "1994-11-06T08:49:37Z");
        let later = at + Duration::from_micros(45_999);
        assert_eq!(iso8601_millis(later), "1994-11-06T08:49:37.045Z");
        assert_eq!(parse_iso8601("1994-11-06T08:49:37Z"), Some(at));
        assert_eq!(parse_iso8601(&iso8601_millis(later)), Some(at));
        for wrong in [
            "",
            "Z",
            "1994-11-06",
            "1994-11-06T08:49:37",
            "1994-11-06T08:49Z",
            "1994-13-06T08:49:37Z",
            "1994-11-06T25:49:37Z",
            "-1-11-06T08:49:37Z",
            "1994-11-06T08:+9:37Z",
        ] {
            assert_eq!(parse_iso8601(wrong), None, "{wrong}");
        }
        assert_eq!(unix_seconds(UNIX_EPOCH - Duration::from_secs(1)), 0);
    }
}
