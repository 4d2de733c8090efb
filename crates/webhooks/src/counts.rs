//! What has become of messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use journal::{Health, State};

/// What became of a message, or of an attempt to deliver it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The receiver has it.
    Delivered,
    /// The attempt failed; another follows.
    Retried,
    /// The last attempt failed.
    GivenUp,
    /// The receiver wants no messages any more.
    Gone,
    /// There was no room for it.
    Dropped,
}

impl Outcome {
    /// All of them, in the order of their indices.
    pub const ALL: [Self; 5] = [
        Self::Delivered,
        Self::Retried,
        Self::GivenUp,
        Self::Gone,
        Self::Dropped,
    ];

    /// The metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Retried => "retried",
            Self::GivenUp => "given_up",
            Self::Gone => "gone",
            Self::Dropped => "dropped",
        }
    }
}

/// Counts of all receivers together.
#[derive(Debug, Default)]
pub struct Counts {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    queued: AtomicU64,
    pub(crate) journal: Arc<Health>,
    /// Messages are not in the file that are to be.
    is_behind: AtomicBool,
}

impl Counts {
    /// How often this was the outcome.
    pub fn outcomes(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// Deliveries that are under way or still to come.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

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

    pub(crate) fn add(&self, outcome: Outcome, count: u64) {
        self.outcomes[outcome as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn set_queued(&self, count: usize) {
        self.queued.store(count as u64, Ordering::Relaxed);
    }
}
