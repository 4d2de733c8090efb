//! Syntax of points in time.

use std::time::SystemTime;

use toml::Spanned;
use toml::de::DeValue;
use toml::value::Datetime;

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

/// Converts a date and a time with its zone, from 1970 on.
fn moment(mut datetime: Datetime) -> Option<SystemTime> {
    let time = datetime.time.as_mut()?;
    (time.second, time.nanosecond) = (Some(time.second.unwrap_or(0)), None);
    base::date::parse(&datetime.to_string())
}
