//! Counters of messages by result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::journal::{Health, State};
use base::{Counter, Labelled};

base::labels! {
    /// Result of a message, or of an attempt to deliver it.
    pub enum Outcome {
        /// The receiver accepted the message.
        Delivered = "delivered",
        /// The attempt failed; another follows.
        Retried = "retried",
        /// The last attempt failed.
        GivenUp = "given_up",
        /// The receiver wants no more messages.
        Gone = "gone",
        /// There was no room for the message.
        Dropped = "dropped",
    }
}

/// Totals over all receivers.
#[derive(Debug, Default)]
pub struct Counts {
    /// Messages and attempts by result.
    pub outcomes: Labelled<Outcome>,
    /// Deliveries in flight or waiting.
    pub queued: Counter,
    pub(crate) journal: Arc<Health>,
    /// Whether messages are missing from the journal that should be in it.
    is_behind: AtomicBool,
}

impl Counts {
    /// Returns the state of the journal. It counts as failing until it contains all waiting messages, including those from the
    /// time in which the disk failed.
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
