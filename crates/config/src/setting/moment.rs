//! How moments are written.

use std::time::{Duration, SystemTime};

use toml::Spanned;
use toml::de::DeValue;
use toml::value::{Datetime, Offset};

use super::{Fault, Faults, Setting, keep, unreadable, wrong_type};

impl Setting for SystemTime {
    const EXPECTED: &str = "a date and time with its zone, such as \"2027-01-01T00:00:00Z\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let moment = text.parse().ok().and_then(moment);
        moment.ok_or_else(|| unreadable::<Self>(text))
    }

    fn from_value(value: &Spanned<DeValue<'_>>, faults: &mut Faults) -> Option<Self> {
        let result = match value.get_ref() {
            DeValue::String(text) => Self::from_text(text),
            DeValue::Datetime(datetime) => Self::from_text(&datetime.to_string()),
            other => Err(wrong_type::<Self>(other)),
        };
        keep(result, value.span(), faults)
    }
}

/// Days of 400 years, after which the calendar repeats.
const DAYS_OF_ERA: i64 = 146_097;

/// The moment of a date and a time with its zone, from 1970 on.
fn moment(datetime: Datetime) -> Option<SystemTime> {
    let (date, time) = (datetime.date?, datetime.time?);
    let minutes = match datetime.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    // Counted from the first of March of year 0, so that a leap day is a year's last.
    let is_before_march = date.month < 3;
    let year = i64::from(date.year) - i64::from(is_before_march);
    let month = (i64::from(date.month) + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + i64::from(date.day) - 1;
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let days = era * DAYS_OF_ERA + year * 365 + year / 4 - year / 100 + day_of_year - 719_468;
    let hours = days * 24 + i64::from(time.hour);
    let second = i64::from(time.second.unwrap_or(0));
    let seconds = (hours * 60 + i64::from(time.minute) - minutes) * 60 + second;
    let seconds = u64::try_from(seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
