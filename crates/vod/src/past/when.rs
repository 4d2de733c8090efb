//! Times in queries and in playlists.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Word for the beginning of the current programme.
const START: &str = "start";

/// Time that a query states.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum When {
    /// Beginning of the current programme.
    Start,
    At(SystemTime),
}

impl When {
    /// Parses `start`, a time before now (`-600s`, `-600`, `-10m`, `-2h`), or a time by RFC 3339. `None` if it is none
    /// of these.
    pub(super) fn parse(text: &str, now: SystemTime) -> Option<Self> {
        if text == START {
            return Some(Self::Start);
        }
        let at = match text.strip_prefix('-') {
            // Nothing is older than 1970.
            Some(ago) => now
                .checked_sub(span(ago)?)
                .map_or(UNIX_EPOCH, |at| at.max(UNIX_EPOCH)),
            None => rfc3339(text)?,
        };
        Some(Self::At(at))
    }
}

/// Parses digits, followed by a unit.
fn span(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, text.as_bytes()[number.len()]),
        None => (text, b's'),
    };
    let factor = match unit {
        b'h' => 3_600,
        b'm' => 60,
        _ => 1,
    };
    let seconds = digits(number)?.checked_mul(factor)?;
    Some(Duration::from_secs(seconds))
}

/// Parses `2026-11-23T15:42:00.5Z`, `2026-11-23T16:42:00+01:00`; a plus arrives as a space where forms are decoded.
fn rfc3339(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_at_checked(10)?;
    let time = rest.strip_prefix(['T', 't', ' ', '_'])?;
    base::date::parse(&format!("{date}T{}", time.replace(' ', "+")))
}

fn digits(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Returns `2026-11-23` and `15:42:00`, in UTC.
pub(super) fn date_and_time(at: SystemTime) -> (String, String) {
    let text = base::date::with_zone(at, "");
    let (date, time) = text.split_once('T').unwrap_or_default();
    (date.to_owned(), time.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        let now = UNIX_EPOCH + Duration::from_secs(1_795_532_645);
        let at = |text: &str| match When::parse(text, now) {
            Some(When::At(at)) => at.duration_since(UNIX_EPOCH).ok().map(|it| it.as_millis()),
            _ => None,
        };
        let (date, time) = date_and_time(now);
        assert_eq!((&*date, &*time), ("2026-11-24", "15:04:05"));
        assert_eq!(When::parse("start", now), Some(When::Start));
        for (text, millis) in [
            ("-0", 1_795_532_645_000),
            ("-600", 1_795_532_045_000),
            ("-600s", 1_795_532_045_000),
            ("-10m", 1_795_532_045_000),
            ("-2h", 1_795_525_445_000),
            ("-9999999999999h", 0),
            ("2026-11-24T15:04:05Z", 1_795_532_645_000),
            ("2026-11-24t15:04:05.25z", 1_795_532_645_250),
            ("2026-11-24T16:04:05+01:00", 1_795_532_645_000),
            ("2026-11-24T16:04:05 01:00", 1_795_532_645_000),
            ("2026-11-24T09:34:05.1234567891-05:30", 1_795_532_645_123),
            ("1970-01-01T00:00:00Z", 0),
        ] {
            assert_eq!(at(text), Some(millis), "{text}");
        }
        let given = "|-|-s|--1|-1d|-99999999999999999999|600|now|2026-11-24|2026-11-24T15:04:05|\
                     2026-02-30T15:04:05Z|2026-11-24T24:04:05Z|2026-11-24T15:04:05.Z|\
                     2026-11-24T15:04:05+1|2026-11-24T15:04:05+25:00|1970-01-01T00:00:00+01:00|\
                     ä026-11-24T15:04:05Z|2026-11-24T15:04:0ä";
        for text in given.split('|') {
            assert_eq!(When::parse(text, now), None, "{text}");
        }
    }
}
