//! Amounts without a limit unless one is given: bytes, and long durations.

use std::time::Duration;

use crate::setting::{Fault, Setting, unreadable};

/// Amount of bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ByteSize(pub(crate) u64);

/// Duration of days and years.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Age(pub(crate) Duration);

/// Longest age, in days; a longer one is a mistake in the unit.
const DAYS_MAX: u64 = 36_500;

/// Splits a text into a number and its unit.
pub(crate) fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim_start()))
}

impl Setting for ByteSize {
    const EXPECTED: &str = "an amount of bytes with its unit, such as \"500MiB\", \"20GiB\" or \"1TB\"; \"0B\" is none";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let (number, unit) = split(text).ok_or_else(|| unreadable::<Self>(text))?;
        let factor: u64 = match unit {
            "B" => 1,
            "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "TiB" => 1 << 40,
            _ => return Err(unreadable::<Self>(text)),
        };
        let bytes = number.checked_mul(factor);
        bytes.map(Self).ok_or_else(|| unreadable::<Self>(text))
    }
}

impl Setting for Age {
    const EXPECTED: &str =
        "a time with its unit, such as \"30m\", \"12h\" or \"30d\"; \"0s\" is none";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let (number, unit) = split(text).ok_or_else(|| unreadable::<Self>(text))?;
        let seconds: u64 = match unit {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3_600,
            "d" => 24 * 3_600,
            _ => return Err(unreadable::<Self>(text)),
        };
        let age = Duration::from_secs(number.saturating_mul(seconds));
        if age > Duration::from_secs(DAYS_MAX * 24 * 3_600) {
            return Err(Fault::helped(
                format!("`{text}` is too long"),
                format!("the longest is {DAYS_MAX}d"),
            ));
        }
        Ok(Self(age))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        let bytes = |text| ByteSize::from_text(text).map(|size| size.0).ok();
        assert_eq!(bytes("0B"), Some(0));
        assert_eq!(bytes("500MiB"), Some(500 << 20));
        assert_eq!(bytes("2 TB"), Some(2_000_000_000_000));
        for wrong in ["", "5", "GiB", "5GIB", "-1B", "99999999999TiB", "1.5GiB"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
        let age = |text| Age::from_text(text).map(|age| age.0.as_secs()).ok();
        assert_eq!(age("0s"), Some(0));
        assert_eq!(age("30d"), Some(30 * 24 * 3_600));
        assert_eq!(age("90 m"), Some(5_400));
        for wrong in ["", "5", "d", "5w", "40000d", "99999999999999999999d"] {
            assert_eq!(age(wrong), None, "{wrong}");
        }
    }
}
