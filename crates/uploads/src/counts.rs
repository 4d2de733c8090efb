//! What all uploads together have done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use journal::{Health, State};

/// How an attempt to copy a recording ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The copy is there.
    Stored,
    /// The storage takes none from us: the credentials, their rights or the bucket's name are wrong.
    Refused,
    /// Another object has its name.
    Taken,
    /// It is tried again.
    Failed,
}

impl Outcome {
    /// All of them, in the order of their indices.
    pub const ALL: [Self; 4] = [Self::Stored, Self::Refused, Self::Taken, Self::Failed];

    /// The metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Refused => "refused",
            Self::Taken => "taken",
            Self::Failed => "failed",
        }
    }
}

/// What all uploads have done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sums {
    /// Attempts by their outcomes, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Bytes of complete recordings of which there is no copy yet.
    pub backlog: u64,
    /// How the file fares in which it is written down what has arrived.
    pub journal: State,
}

/// The counts behind [`Sums`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    backlog: AtomicU64,
    pub(crate) journal: Arc<Health>,
}

impl Counts {
    pub(crate) fn ended(&self, outcome: Outcome) {
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_backlog(&self, bytes: u64) {
        self.backlog.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn sums(&self) -> Sums {
        Sums {
            outcomes: self
                .outcomes
                .each_ref()
                .map(|one| one.load(Ordering::Relaxed)),
            backlog: self.backlog.load(Ordering::Relaxed),
            journal: self.journal.state(),
        }
    }
}
