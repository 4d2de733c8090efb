//! Times of the week at which a list takes part.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// Minutes of a week.
const WEEK: u64 = 7 * 24 * 60;

/// Minutes from Monday 00:00 to the start of 1970, which was a Thursday.
const EPOCH: u64 = 3 * 24 * 60;

/// Times of the week, in minutes of UTC from Monday 00:00. An empty list means always.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Hours(pub Vec<Range<u16>>);

impl Hours {
    /// Returns whether they are empty, which means always.
    pub(super) fn is_always(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a minute of the week is among them.
    pub(super) fn contain(&self, minute: u16) -> bool {
        self.is_always() || self.0.iter().any(|range| range.contains(&minute))
    }
}

/// Returns the minute of the week at a time.
pub(crate) fn minute_of_week(at: SystemTime) -> u16 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    ((since.as_secs() / 60 + EPOCH) % WEEK) as u16
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn weeks_begin_on_monday() {
        let at = |seconds| minute_of_week(UNIX_EPOCH + Duration::from_secs(seconds));
        // 2026-11-23, a Monday, 00:00:59; and the minute before that day.
        assert_eq!((at(1_795_392_059), at(1_795_391_999)), (0, 10_079));
        assert_eq!(at(1_795_392_000 + 3 * 86_400 + 61), 3 * 1_440 + 1);
    }

    #[test]
    fn hours_end_before_their_end() {
        let hours = Hours(vec![60..120, 200..201]);
        let within: Vec<_> = (0..300).filter(|minute| hours.contain(*minute)).collect();
        assert_eq!((within.len(), within[0], within[60]), (61, 60, 200));
        assert!(Hours::default().contain(5));
    }
}
