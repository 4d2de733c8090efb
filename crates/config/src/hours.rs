//! Times of the week, as operators write them: `mon-fri 06:00-10:00`, `sun 22:00-02:00`, `12:00-13:00`.

use std::ops::Range;

const DAY: u16 = 24 * 60;
const WEEK: u16 = 7 * DAY;
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Times of the week, in minutes from Monday 00:00 on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WeekHours(Vec<Range<u16>>);

impl WeekHours {
    /// Parses times; without days they apply to every day. A time that ends before it begins ends on the next day.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().rev();
        let (from, to) = words.next()?.split_once('-')?;
        let (from, mut to) = (minute(from)?, minute(to)?);
        let (first, last) = match words.next() {
            None => (0, 6),
            Some(days) => match days.split_once('-') {
                None => (day(days)?, day(days)?),
                Some((first, last)) => (day(first)?, day(last)?),
            },
        };
        if words.next().is_some() || from == to || from == DAY {
            return None;
        }
        if to < from {
            to += DAY;
        }
        let count = (last + 7 - first) % 7 + 1;
        let mut minutes = Vec::new();
        for at in first..first + count {
            let begin = at % 7 * DAY;
            let (begin, end) = (begin + from, begin + to);
            minutes.push(begin..end.min(WEEK));
            if end > WEEK {
                minutes.push(0..end - WEEK);
            }
        }
        Some(Self(minutes))
    }

    /// Returns the times as ranges of minutes of the week.
    pub fn minutes(&self) -> &[Range<u16>] {
        &self.0
    }
}

fn day(name: &str) -> Option<u16> {
    let at = DAYS.iter().position(|day| *day == name)?;
    u16::try_from(at).ok()
}

/// Parses `06:30`, up to `24:00`.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let is_plain = [hours, minutes]
        .iter()
        .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()));
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let minute = hours * 60 + minutes;
    (is_plain && minutes < 60 && minute <= DAY).then_some(minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_of_days() {
        for (text, minutes) in [
            ("mon-tue 06:00-10:00", vec![360..600, 1_800..2_040]),
            ("sun 22:00-02:00", vec![10_000_u16 - 40..10_080, 0..120]),
            ("mon-tue 00:00-24:00", vec![0..1_440, 1_440..2_880]),
            ("sun-mon 12:00-12:01", vec![9_360..9_361, 720..721]),
        ] {
            let read = WeekHours::parse(text).expect(text);
            assert_eq!(read.minutes(), minutes, "{text}");
        }
        let daily = WeekHours::parse("12:00-13:00").expect("hours");
        let daily = daily.minutes();
        assert_eq!((daily.len(), &daily[6]), (7, &(9_360..9_420)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            "|mon|mon 6:00-10:00|mon 06:00|mon 06:00-06:00|day 06:00-07:00|mon-x 06:00-07:00|\
                     mon 06:60-07:00|mon 23:00-24:01|mon 24:00-01:00|mon tue 06:00-07:00|\
                     mon +6:00-07:00|mon 99999:00-07:00"
                .split('|')
        {
            assert_eq!(WeekHours::parse(text), None, "{text}");
        }
    }
}
