//! Dates in the form of RFC 3339, in UTC. Times before 1970 count as its beginning, those after 9999 as its end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Last second of the year 9999, in seconds since 1970.
const LAST_SECOND: i64 = 253_402_300_799;

/// Returns the whole seconds since 1970; 0 for times before it.
pub fn unix_seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Formats a time to the second: `2026-11-21T04:54:26Z`.
pub fn rfc3339(at: SystemTime) -> String {
    with_zone(at, "Z")
}

/// Formats a time to the millisecond: `2026-11-21T04:54:26.512Z`.
pub fn rfc3339_millis(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    with_zone(at, &format!(".{:03}Z", since.subsec_millis()))
}

/// Formats a time to the second, with `zone` in place of the `Z`.
pub fn with_zone(at: SystemTime, zone: &str) -> String {
    let seconds = i64::try_from(unix_seconds(at)).unwrap_or(i64::MAX);
    let at = OffsetDateTime::from_unix_timestamp(seconds.min(LAST_SECOND));
    let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second) = at.to_hms();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}")
}

/// Parses a date with time and zone, from 1970 on: `2026-11-21T04:54:26.5Z`, `2026-11-21T05:54:26+01:00`. Any character
/// may separate date and time.
pub fn parse(text: &str) -> Option<SystemTime> {
    let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let seconds = u64::try_from(at.unix_timestamp()).ok()?;
    UNIX_EPOCH.checked_add(Duration::new(seconds, at.nanosecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(millis: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(millis)
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59.000Z"),
            (1_795_406_706_789, "2026-11-23T04:05:06.789Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            let at = after(millis);
            assert_eq!(rfc3339_millis(at), expected);
            assert_eq!(parse(expected), Some(at));
            assert_eq!(parse(&rfc3339(at)), Some(after(millis / 1_000 * 1_000)));
        }
        assert_eq!(with_zone(after(0), "+0000"), "1970-01-01T00:00:00+0000");
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(rfc3339(before), "1970-01-01T00:00:00Z");
        assert_eq!(unix_seconds(before), 0);
        let late = UNIX_EPOCH + Duration::from_secs(LAST_SECOND as u64 + 1);
        assert_eq!(rfc3339(late), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn days_follow_each_other() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 1..200_000 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
            let at = UNIX_EPOCH + Duration::from_secs(days * 86_400);
            let expected = format!("{year:04}-{month:02}-{day:02}T00:00:00Z");
            assert_eq!(rfc3339(at), expected);
        }
    }

    #[test]
    fn what_is_no_date_is_not_read() {
        for text in [
            "",
            "2026-11-24",
            "2026-11-24T15:04:05",
            "2026-02-30T15:04:05Z",
            "2026-13-01T15:04:05Z",
            "2026-11-24T24:04:05Z",
            "2026-11-24T15:04:05.Z",
            "2026-11-24T15:04:05+1",
            "2026-11-24T15:04:05+25:00",
            "2026-11-24T15:04Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+01:00",
            "ä026-11-24T15:04:05Z",
            "2026-11-24T15:04:05Zä",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
