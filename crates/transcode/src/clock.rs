//! Where the source's timestamps and its samples disagree.
//!
//! Time within a run of sound is counted in samples. A source's timestamps are rounded, jitter, and
//! lack what was lost on the way, so they are only compared: within a tolerance they are ignored,
//! and beyond it sound is made up or left out until both agree again.

use media::{Span, TICKS_PER_SECOND, Timestamp};

/// Disagreement that is ignored: less than the visible lead or lag of sound against lips, more than
/// the jitter of encoders that stamp frames as they leave.
pub(crate) const TOLERANCE: Span = Span::from_millis(60);

/// The longest gap that is filled and the longest overlap that is left out. A clock that is further
/// off has been set anew.
pub(crate) const BRIDGE_MAX: Span = Span::from_millis(1_000);

/// What to do before the next frame of sound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// Go on.
    Continue,
    /// This many samples are missing before it.
    Fill(usize),
    /// This many samples are too many from it on.
    Skip(usize),
    /// The clock was set forward or back; start a new run.
    Jump,
}

/// The step for a frame stamped `at` whose samples stand at `position`, at `rate` Hz.
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
        step(
            Timestamp::from_millis(10_000),
            Timestamp::from_millis(10_000 + millis),
            48_000,
        )
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
