//! The round trip of a viewer's link without a queue, as far as reports have shown it.

use std::time::Duration;

/// A round trip that is longer than the shortest by this much has a queue on its way.
const QUEUED: Duration = Duration::from_millis(100);

/// A round trip that is longer than this has a queue on its way as long as none without a queue is known.
const QUEUED_UNKNOWN: Duration = Duration::from_millis(250);

/// Of the distance to the present round trip the shortest one follows this part with each interval that is clean, so that
/// another route counts as another route after a minute and not as a queue.
const ROUTE_WEIGHT: u32 = 32;

/// Clean intervals in a row after which the shortest round trip is one without a queue.
pub(super) const CLEAN_MIN: u8 = 10;

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    shortest: Option<Duration>,
    /// The shortest is one without a queue.
    is_known: bool,
    /// Clean intervals of the picture since the last other one of either line.
    clean: u8,
}

impl RoundTrip {
    pub(super) const fn is_known(&self) -> bool {
        self.is_known
    }

    /// Takes a round trip, which is one without a queue if it `is_drained`.
    pub(super) fn learn(&mut self, took: Duration, is_drained: bool) {
        self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
        if is_drained && !self.is_known {
            (self.shortest, self.is_known) = (Some(took), true);
        }
    }

    /// Whether one that took so long had a queue on its way.
    pub(super) fn is_queued(&self, took: Duration) -> bool {
        let is_longer = self
            .shortest
            .is_some_and(|shortest| took >= shortest + QUEUED);
        is_longer || (!self.is_known && took >= QUEUED_UNKNOWN)
    }

    /// Whether one took longer than the shortest and `more`.
    pub(super) fn exceeds(&self, took: Duration, more: Duration) -> bool {
        self.shortest.is_some_and(|shortest| took > shortest + more)
    }

    /// An interval was clean, at the end of which a round trip `took` so long: one of the picture counts.
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

    /// An interval was not clean.
    pub(super) const fn was_unclean(&mut self) {
        self.clean = 0;
    }

    /// The picture is held: what was the shortest may have had a queue.
    pub(super) const fn doubt(&mut self) {
        (self.is_known, self.clean) = (false, 0);
    }

    /// The viewer is somewhere else.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
