//! The time between two visits to a lane's listeners, as declared by the threads that serve them.
//!
//! A packager may combine output over this time: nobody receives it later than by the next visit. Each
//! [`Follower`](crate::Follower) declares its own window; the longest counts, but no more than every follower's
//! listeners can take in one piece. The packager reads one word per sample. Followers take the lock, and only when
//! their declaration has changed: no visit takes it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::Lock;

/// Windows declared by all followers of a lane, and the window that results.
#[derive(Debug, Default)]
pub(crate) struct ReadersWindow {
    /// The resulting window in microseconds.
    agreed: AtomicU64,
    declared: Lock<Vec<Declared>>,
}

/// One follower's declaration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Declared {
    /// Time between two visits of its listeners.
    pub(crate) window: Duration,
    /// Longest span of media that its listeners can take in one piece.
    pub(crate) most: Duration,
}

impl ReadersWindow {
    /// Returns the time over which output may be combined now.
    pub(crate) fn agreed(&self) -> Duration {
        Duration::from_micros(self.agreed.load(Ordering::Relaxed))
    }

    /// Replaces a follower's declaration. `before` is `None` for a new follower, `after` for one that leaves.
    pub(crate) fn replace(&self, before: Option<Declared>, after: Option<Declared>) {
        let mut all = self.declared.lock();
        if let Some(known) = all.iter().position(|one| Some(*one) == before) {
            all.swap_remove(known);
        }
        all.extend(after);
        let window = all.iter().map(|one| one.window).max();
        let most = all.iter().map(|one| one.most).min();
        let agreed = window
            .zip(most)
            .map_or(Duration::ZERO, |(window, most)| window.min(most));
        let micros = u64::try_from(agreed.as_micros()).unwrap_or(u64::MAX);
        self.agreed.store(micros, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_longest_window_counts_as_far_as_all_can_take_it() {
        let lane = ReadersWindow::default();
        let declared = |window, most| {
            Some(Declared {
                window: ms(window),
                most: ms(most),
            })
        };
        let replace = |before, after| {
            lane.replace(before, after);
            lane.agreed()
        };
        let (one, other, limited) = (declared(30, 900), declared(80, 900), declared(10, 40));
        assert_eq!(lane.agreed(), Duration::ZERO);
        assert_eq!(replace(None, one), ms(30));
        assert_eq!(replace(None, other), ms(80));
        assert_eq!(replace(None, limited), ms(40));
        assert_eq!(replace(other, one), ms(30), "the last word counts");
        assert_eq!(replace(limited, None), ms(30));
        assert_eq!(replace(one, None), ms(30), "the other has said the same");
        assert_eq!(replace(one, None), Duration::ZERO);
        assert_eq!(
            replace(
                None,
                Some(Declared {
                    window: Duration::MAX,
                    most: Duration::MAX
                })
            )
            .as_micros(),
            u64::MAX.into()
        );
    }
}
