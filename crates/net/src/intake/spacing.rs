//! Spacing of prompt turns: they are so far apart that they take their share of the thread and no more.

use std::time::{Duration, Instant};

/// Most turns that may be saved up. Samples come in pairs of video and audio: the second need not wait for
/// the cost of the first, as long as turns on average keep to it.
const SAVED_TURNS_MAX: u32 = 3;

/// Schedule of prompt turns; [`count`](Self::count) each turn and wait for the [`pause`](Self::pause).
#[derive(Debug)]
pub(super) struct Spacing {
    /// Time up to which the turns so far, at their spacing, have used the thread's share.
    paid_until: Instant,
}

impl Spacing {
    pub(super) fn new(now: Instant) -> Self {
        Self { paid_until: now }
    }

    /// Returns the wait before the next turn, for turns that are `apart`.
    pub(super) fn pause(&self, apart: Duration, now: Instant) -> Duration {
        let owed = self.paid_until.saturating_duration_since(now);
        // The spacing may have been longer when the last turn was counted.
        owed.saturating_sub(apart * SAVED_TURNS_MAX).min(apart)
    }

    /// Counts a turn that has received something.
    pub(super) fn count(&mut self, apart: Duration, now: Instant) {
        let most = now + apart * SAVED_TURNS_MAX;
        self.paid_until = self.paid_until.clamp(now, most) + apart;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: Duration = Duration::from_millis(2);
    const STEP: Duration = Duration::from_micros(100);

    #[test]
    fn what_follows_a_calm_is_read_at_once() {
        let now = Instant::now();
        let mut spacing = Spacing::new(now);
        for _ in 0..SAVED_TURNS_MAX {
            assert_eq!(spacing.pause(APART, now), Duration::ZERO);
            spacing.count(APART, now);
        }
        assert_eq!(spacing.pause(APART, now), Duration::ZERO);
        spacing.count(APART, now);
        assert_eq!(spacing.pause(APART, now), APART);
        let calm = now + 4 * APART;
        assert_eq!(spacing.pause(APART, calm), Duration::ZERO);
    }

    #[test]
    fn turns_are_apart_while_something_always_arrives() {
        let begin = Instant::now();
        let mut spacing = Spacing::new(begin);
        let (mut now, mut turns) = (begin, 0);
        while now < begin + 100 * APART {
            now += spacing.pause(APART, now) + STEP;
            spacing.count(APART, now);
            turns += 1;
        }
        let most = 100 + SAVED_TURNS_MAX + 1;
        assert!((90..=most).contains(&turns), "{turns}");
    }

    #[test]
    fn turns_that_have_become_cheap_do_not_wait_for_dear_ones() {
        let now = Instant::now();
        let mut spacing = Spacing::new(now);
        for _ in 0..10 {
            spacing.count(APART, now);
        }
        assert_eq!(spacing.pause(APART, now), APART);
        assert_eq!(spacing.pause(APART / 10, now), APART / 10);
    }
}
