//! What has become of messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Counter, Labelled};
use journal::{Health, State};

base::labels! {
    /// What became of a message, or of an attempt to deliver it.
    pub enum Outcome {
        /// The receiver has it.
        Delivered = "delivered",
        /// The attempt failed; another follows.
        Retried = "retried",
        /// The last attempt failed.
        GivenUp = "given_up",
        /// The receiver wants no messages any more.
        Gone = "gone",
        /// There was no room for it.
        Dropped = "dropped",
    }
}

/// Counts of all receivers together.
#[derive(Debug, Default)]
pub struct Counts {
    /// How often this was the outcome.
    pub outcomes: Labelled<Outcome>,
    /// Deliveries that are under way or still to come.
    pub queued: Counter,
    pub(crate) journal: Arc<Health>,
    /// Messages are not in the file that are to be.
    is_behind: AtomicBool,
}

impl Counts {
    /// How the file fares that messages survive a restart in. It is failing until it has all that wait, also those of the
    /// time in which it took nothing.
    pub fn journal(&self) -> State {
        let state = self.journal.state();
        let is_behind = self.is_behind.load(Ordering::Relaxed);
        State {
            is_failing: state.is_failing || is_behind,
            ..state
        }
    }

    pub(crate) fn set_behind(&self, is_behind: bool) {
        self.is_behind.store(is_behind, Ordering::Relaxed);
    }
}
