//! Disagreement between a source's timestamps and its samples.
//!
//! Time within a run of audio is counted in samples. A source's timestamps are rounded, jitter, and do not count what was lost
//! on the way, so they are only compared: differences within a tolerance are ignored; beyond it audio is synthesised or left
//! out until both agree again.

use media::{Span, TICKS_PER_SECOND, Timestamp};

/// Difference that is ignored: less than the visible lead or lag of audio against lips, more than the jitter of encoders that
/// stamp frames as they leave.
pub(crate) const TOLERANCE: Span = Span::from_millis(60);

/// Longest gap that is filled and longest overlap that is left out. A clock that is further off has been set anew.
pub(crate) const BRIDGE_MAX: Span = Span::from_millis(1_000);

/// Action required before the next audio frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// Nothing; the frame follows directly.
    Continue,
    /// This many samples are missing before it.
    Fill(usize),
    /// This many samples, starting with it, are too many.
    Skip(usize),
    /// The clock was set forward or back; a new run must start.
    Jump,
}

/// Returns the step for a frame stamped `at` whose samples begin at `position`, at `rate` Hz.
pub(crate) fn step(position: Timestamp, at: Timestamp, rate: u32) -> Step {
    let ahead = at - position;
    if ahead.ticks().unsigned_abs() <= TOLERANCE.ticks().unsigned_abs() {
        return Step::Continue;
    }
    if ahead.ticks().unsigned_abs() > BRIDGE_MAX.ticks().unsigned_abs() {
        return Step::Jump;
    }
    let ticks_per_sample = (TICKS_PER_SECOND / i64::from(rate)).unsigned_abs();
    // At most a second of samples: it fits.
    let samples = (ahead.ticks().unsigned_abs() / ticks_per_sample) as usize;
    if ahead > Span::ZERO {
        Step::Fill(samples)
    } else {
        Step::Skip(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Step {
        let now = Timestamp::from_millis(10_000);
        step(now, now + Span::from_millis(millis), 48_000)
    }

    #[test]
    fn small_is_ignored_and_large_is_a_jump() {
        for millis in [-60, -1, 0, 23, 60] {
            assert_eq!(at(millis), Step::Continue, "{millis} ms");
        }
        assert_eq!(at(61), Step::Fill(61 * 48));
        assert_eq!(at(-100), Step::Skip(100 * 48));
        assert_eq!(at(1_000), Step::Fill(48_000));
        assert_eq!(at(1_001), Step::Jump);
        assert_eq!(at(-1_001), Step::Jump);
    }

    #[test]
    fn the_ends_of_time_are_jumps() {
        let far = Timestamp::from_ticks(i64::MAX);
        let early = Timestamp::from_ticks(i64::MIN);
        assert_eq!(step(early, far, 44_100), Step::Jump);
        assert_eq!(step(far, early, 44_100), Step::Jump);
    }
}
