//! Round trip of a viewer's link without a queue, as far as reports have shown it.

use std::time::Duration;

/// Excess over the shortest round trip that indicates a queue.
const QUEUED: Duration = Duration::from_millis(100);

/// Round trip that indicates a queue as long as none without a queue is known.
const QUEUED_UNKNOWN: Duration = Duration::from_millis(250);

/// Divisor of the distance by which the shortest round trip approaches the current one with each clean interval, so that a new
/// route is recognised as a route after a minute and not taken for a queue.
const ROUTE_WEIGHT: u32 = 32;

/// Consecutive clean intervals after which the shortest round trip counts as one without a queue.
pub(super) const CLEAN_MIN: u8 = 10;

/// Estimate of a link's round trip without a queue.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    shortest: Option<Duration>,
    /// Whether the shortest round trip is one without a queue.
    is_known: bool,
    /// Clean intervals of video since the last unclean one of either line.
    clean: u8,
}

impl RoundTrip {
    pub(super) const fn is_known(&self) -> bool {
        self.is_known
    }

    /// Records a round trip; `is_drained` marks one without a queue.
    pub(super) fn learn(&mut self, took: Duration, is_drained: bool) {
        self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
        if is_drained && !self.is_known {
            (self.shortest, self.is_known) = (Some(took), true);
        }
    }

    /// Whether a round trip of this length included a queue.
    pub(super) fn is_queued(&self, took: Duration) -> bool {
        let is_longer = self
            .shortest
            .is_some_and(|shortest| took >= shortest + QUEUED);
        is_longer || (!self.is_known && took >= QUEUED_UNKNOWN)
    }

    /// Whether a round trip exceeds the shortest by more than `more`.
    pub(super) fn exceeds(&self, took: Duration, more: Duration) -> bool {
        self.shortest.is_some_and(|shortest| took > shortest + more)
    }

    /// Records a clean interval that ended with a round trip of `took`; only video intervals are counted.
    pub(super) fn was_clean(&mut self, is_picture: bool, took: Option<Duration>) {
        if is_picture {
            self.clean = self.clean.saturating_add(1);
            self.is_known |= self.clean >= CLEAN_MIN;
        }
        if let (Some(shortest), Some(took)) = (self.shortest, took) {
            let longer = took.saturating_sub(shortest);
            self.shortest = Some(shortest + longer / ROUTE_WEIGHT);
        }
    }

    /// Records an interval that was not clean.
    pub(super) const fn was_unclean(&mut self) {
        self.clean = 0;
    }

    /// Drops the certainty about the shortest round trip when video is suspended, since it may have included a queue.
    pub(super) const fn doubt(&mut self) {
        (self.is_known, self.clean) = (false, 0);
    }

    /// Forgets everything, after a change of address.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
