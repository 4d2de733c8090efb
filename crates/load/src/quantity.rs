//! Quantities of the command line: durations, rates, shares, bit rates.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Reasons why a text is not the expected quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuantityError {
    /// Not a duration.
    #[error("a duration looks like 500ms, 30s, 5m or 1h")]
    Duration,
    /// Not a rate.
    #[error("a rate looks like 100/s or 2.5/s, and is above 0")]
    Rate,
    /// Not a share.
    #[error("a share looks like 5%, from 0% to 100%")]
    Share,
    /// Not a bit rate.
    #[error("a bit rate looks like 12k, 128kb/s or 1.5M, and is at least 1k")]
    BitRate,
    /// Not a share and a bit rate.
    #[error("slow listeners look like 5%:12k, a share and a bit rate")]
    Slow,
}

/// Parses a span of time: `500ms`, `30s`, `5m`, `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, QuantityError> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))
        .ok_or(QuantityError::Duration)?;
    let seconds = plain(number).ok_or(QuantityError::Duration)? * unit;
    Duration::try_from_secs_f64(seconds).map_err(|_| QuantityError::Duration)
}

/// Parses events per second: `100/s`.
pub(crate) fn rate(text: &str) -> Result<f64, QuantityError> {
    let number = plain(text.strip_suffix("/s").unwrap_or(text));
    number
        .filter(|number| *number > 0.0)
        .ok_or(QuantityError::Rate)
}

/// Parses a share as a number from 0 to 1: `5%`.
pub(crate) fn share(text: &str) -> Result<f64, QuantityError> {
    let number = plain(text.strip_suffix('%').unwrap_or(text));
    number
        .filter(|number| *number <= 100.0)
        .map(|number| number / 100.0)
        .ok_or(QuantityError::Share)
}

/// Parses bits per second: `12k`, `128kb/s`, `1.5M`.
pub(crate) fn bit_rate(text: &str) -> Result<u64, QuantityError> {
    let text = text.strip_suffix("b/s").unwrap_or(text);
    let units = [("k", 1e3), ("M", 1e6), ("", 1.0)];
    let bits = units
        .iter()
        .find_map(|(name, unit)| Some(plain(text.strip_suffix(name)?)? * unit));
    bits.filter(|bits| *bits >= 1e3)
        .map(|bits| bits as u64)
        .ok_or(QuantityError::BitRate)
}

/// Listeners that read at less than the stream's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slow {
    /// Share of all listeners, from 0 to 1.
    pub(crate) share: f64,
    /// Bits per second that each one reads.
    pub(crate) bit_rate: u64,
}

impl FromStr for Slow {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (part, bits) = text.split_once(':').ok_or(QuantityError::Slow)?;
        Ok(Self {
            share: share(part)?,
            bit_rate: bit_rate(bits)?,
        })
    }
}

/// Parses digits and a point: no sign, no exponent, no `inf`.
fn plain(text: &str) -> Option<f64> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse()
        .ok()
        .filter(|number: &f64| is_plain && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(rate("3000/s"), Ok(3_000.0));
        assert_eq!(rate("0.5"), Ok(0.5));
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(bit_rate("128kb/s"), Ok(128_000));
        assert_eq!(bit_rate("1.5M"), Ok(1_500_000));
        let slow = Slow {
            share: 0.1,
            bit_rate: 12_000,
        };
        assert_eq!("10%:12k".parse(), Ok(slow));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "s", "5", "-1s", "infs", "1e9s", "5 s", "1d"] {
            assert_eq!(duration(text), Err(QuantityError::Duration), "{text:?}");
        }
        for text in ["", "0/s", "-3/s", "fast"] {
            assert_eq!(rate(text), Err(QuantityError::Rate), "{text:?}");
        }
        assert_eq!(share("101%"), Err(QuantityError::Share));
        assert_eq!(bit_rate("12"), Err(QuantityError::BitRate));
        assert_eq!("10%".parse::<Slow>(), Err(QuantityError::Slow));
        assert_eq!("200%:12k".parse::<Slow>(), Err(QuantityError::Share));
    }
}
