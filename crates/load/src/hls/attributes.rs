//! Values of a playlist's tags: attribute lists, seconds, dates (RFC 8216 §4.2, §4.3.2.6).

use std::time::UNIX_EPOCH;

/// Maximum duration in seconds; longer ones are mistakes. A playlist has fewer than 40,000 entries, so neither their sum nor a
/// date plus their sum overflows.
const SECONDS_MAX: f64 = 1e5;
/// Latest date: the year 2262.
const DATE_MAX: u64 = u64::MAX / 2;

/// Returns the attributes of a list in order: names, and values without quotation marks.
pub(super) fn attributes(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let (name, value) = rest.split_once('=')?;
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => value.split_at(value.find(',').unwrap_or(value.len())),
        };
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after);
        Some((name.trim(), value.trim()))
    })
}

/// Parses a decimal number of seconds into nanoseconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let seconds: f64 = text.trim().parse().ok()?;
    let is_sane = (0.0..=SECONDS_MAX).contains(&seconds);
    is_sane.then(|| (seconds * 1e9).round() as u64)
}

/// Parses a date with time and zone (ISO 8601) into nanoseconds since 1970. The zone may lack its colon.
pub(super) fn date(text: &str) -> Option<u64> {
    let text = text.trim();
    let (time, zone) = text.split_at_checked(text.len().checked_sub(5)?)?;
    let text = match zone.split_at_checked(3)? {
        (hours, minutes) if zone.starts_with(['+', '-']) && text.contains('T') => {
            format!("{time}{hours}:{minutes}")
        }
        _ => text.to_owned(),
    };
    let since = base::date::parse(&text)?.duration_since(UNIX_EPOCH).ok()?;
    let nanoseconds = u64::try_from(since.as_nanos()).ok()?;
    (nanoseconds <= DATE_MAX).then_some(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_apart() {
        let list = "CODECS=\"avc1.4d401f,mp4a.40.2\", BANDWIDTH=1280000,NAME=\"a=b\",DEFAULT=YES";
        let found: Vec<_> = attributes(list).collect();
        let expected = [
            ("CODECS", "avc1.4d401f,mp4a.40.2"),
            ("BANDWIDTH", "1280000"),
            ("NAME", "a=b"),
            ("DEFAULT", "YES"),
        ];
        assert_eq!(found, expected);
        assert_eq!(attributes("").count(), 0);
        assert_eq!(attributes("A=\"open").collect::<Vec<_>>(), [("A", "open")]);
    }

    #[test]
    fn seconds_are_exact() {
        assert_eq!(seconds("0.5"), Some(500_000_000));
        assert_eq!(seconds("0.50000"), seconds("0.5"));
        assert_eq!(seconds("6"), Some(6_000_000_000));
        assert_eq!(seconds("0.033333333"), Some(33_333_333));
        for text in ["", "-1", "inf", "NaN", "1e9", "x"] {
            assert_eq!(seconds(text), None, "{text:?}");
        }
    }

    #[test]
    fn dates_are_moments() {
        let second = 1_000_000_000;
        assert_eq!(date("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(date("2001-09-09T01:46:40Z"), Some(1_000_000_000 * second));
        let leap = Some(1_709_210_096 * second + 250_000_000);
        assert_eq!(date("2024-02-29T12:34:56.250Z"), leap);
        assert_eq!(date("2024-02-29T14:34:56.250+02:00"), leap);
        assert_eq!(date("2024-02-29T06:34:56.250-0600"), leap);
        for text in [
            "",
            "2024-02-29",
            "2024-13-01T00:00:00Z",
            "2024-02-29T12:34:56",
        ] {
            assert_eq!(date(text), None, "{text:?}");
        }
    }
}
