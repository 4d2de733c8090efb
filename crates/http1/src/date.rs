//! The Date header.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 86_400;
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Seconds since 1970-01-01 00:00 UTC, shown as an IMF-fixdate (RFC 9110 §5.6.7):
/// `Sun, 06 Nov 1994 08:49:37 GMT`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct HttpDate(pub u64);

impl HttpDate {
    /// Reads an IMF-fixdate. `None` for anything else: the two older forms have not been sent for decades.
    pub fn parse(text: &str) -> Option<Self> {
        let (weekday, rest) = text.split_once(", ")?;
        let mut words = rest.split(' ');
        let mut word = |length: usize| words.next().filter(|word| word.len() == length);
        let number = |word: &str| {
            let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
            word.parse::<u64>().ok().filter(|_| is_plain)
        };
        let day = number(word(2)?)?;
        let month = word(3)?;
        let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
        let year = number(word(4)?)?;
        let mut time = word(8)?.split(':').map(number);
        let [hour, minute, second] = [time.next()??, time.next()??, time.next()??];
        let is_whole = word(3)? == "GMT" && words.next().is_none() && WEEKDAYS.contains(&weekday);
        // A minute may have a leap second.
        if !is_whole || hour > 23 || minute > 59 || second > 60 || time.next().is_some() {
            return None;
        }
        let days = days(year, month, day)?;
        Some(Self(
            days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second,
        ))
    }
}

/// Cut to whole seconds; a time before 1970 is taken for its beginning.
impl From<SystemTime> for HttpDate {
    fn from(at: SystemTime) -> Self {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(since.as_secs())
    }
}

impl fmt::Display for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.0 / SECONDS_PER_DAY, self.0 % SECONDS_PER_DAY);
        let weekday = WEEKDAYS[(days % 7) as usize];
        let (year, month, day) = civil(days);
        let month = MONTHS[(month - 1) as usize];
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            f,
            "{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT"
        )
    }
}

/// A time of day as ISO 8601 has it, in UTC: `2026-11-21T04:54:26.512Z`. One before 1970 is taken for its beginning.
pub fn iso8601_millis(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (
        since.as_secs() / SECONDS_PER_DAY,
        since.as_secs() % SECONDS_PER_DAY,
    );
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Days since the epoch as year, month 1–12 and day 1–31 of the Gregorian calendar, by counting
/// in eras of 400 years that begin on 1 March 0000, so that the leap day comes last.
pub const fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + (month <= 2) as u64;
    (year, month, day)
}

/// The days since the epoch of a date, as [`civil`] counts; a day that its month does not have is one of the next month.
/// `None` for what is no date at all, or before the epoch.
pub fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1_970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (146_097 * era + day_of_era).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn days_and_dates_are_the_same() {
        for count in (0..2_900_000).step_by(97) {
            let (year, month, day) = civil(count);
            assert_eq!(days(year, month, day), Some(count));
        }
        assert_eq!(days(2026, 2, 30), days(2026, 3, 2));
        for (year, month, day) in [(1969, 1, 1), (2026, 0, 1), (2026, 13, 1), (2026, 1, 32)] {
            assert_eq!(days(year, month, day), None);
        }
    }

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
            assert_eq!(civil(days), (year, month, day));
        }
    }
}
