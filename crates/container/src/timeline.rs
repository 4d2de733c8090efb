//! Monotonic version of a source's clock, used to order a log.

use media::{Span, Timestamp};

/// Longest forward step that is followed, in ticks: longer than any page or cluster lasts, far shorter than the leap of
/// a reset or wrong clock.
const STEP_TICKS_MAX: i64 = 60 * media::TICKS_PER_SECOND;

/// Mapping from the ticks of a source's own clock to a timeline that starts at zero and never steps back. A leap of the
/// source's clock, forward or back, sets a new origin.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// Source ticks that correspond to `now`; `None` until the first mark.
    source: Option<i64>,
    now: Timestamp,
}

impl Timeline {
    /// Returns the current time of the timeline.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Moves to the point that the source calls `ticks`.
    pub(crate) fn advance_to(&mut self, ticks: i64) -> Timestamp {
        let step = ticks.saturating_sub(self.source.unwrap_or(ticks));
        if (0..=STEP_TICKS_MAX).contains(&step) {
            self.now += Span::from_ticks(step);
            self.source = Some(ticks);
        } else if !(-STEP_TICKS_MAX..0).contains(&step) {
            self.source = Some(ticks);
        }
        self.now
    }

    /// Makes the current time correspond to the point that the source calls `ticks`.
    pub(crate) fn restart_at(&mut self, ticks: i64) {
        self.source = Some(ticks);
    }

    /// Moves the timeline up to `now` if it is behind.
    pub(crate) fn catch_up(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = media::TICKS_PER_SECOND;

    #[test]
    fn small_steps_back_wait_and_leaps_start_anew() {
        let mut timeline = Timeline::default();
        let mut at = |ticks| timeline.advance_to(ticks).ticks();
        assert_eq!(at(1_000 * SECOND), 0);
        assert_eq!(at(1_002 * SECOND), 2 * SECOND);
        assert_eq!(at(1_001 * SECOND), 2 * SECOND);
        assert_eq!(at(1_003 * SECOND), 3 * SECOND);
        assert_eq!(at(i64::MAX), 3 * SECOND);
        assert_eq!(at(i64::MIN), 3 * SECOND);
        assert_eq!(at(i64::MIN + SECOND), 4 * SECOND);
    }
}
