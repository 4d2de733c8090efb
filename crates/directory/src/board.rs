//! Which streams are in a directory, and what directories have answered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What came of a request, and the label in the metrics.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// A stream is in the directory.
    Added,
    /// It still is.
    Touched,
    /// It is there no more.
    Removed,
    /// The directory did not answer, or not with yes.
    Failed,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 4] = [Self::Added, Self::Touched, Self::Removed, Self::Failed];

    /// Its name in the metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Touched => "touched",
            Self::Removed => "removed",
            Self::Failed => "failed",
        }
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Board {
    /// In how many directories each stream is.
    listed: Mutex<BTreeMap<String, usize>>,
    outcomes: [AtomicU64; Outcome::ALL.len()],
}

impl Board {
    /// Whether a stream is in any directory.
    pub fn is_listed(&self, stream: &str) -> bool {
        self.listed().contains_key(stream)
    }

    /// How often it came out so.
    pub fn outcomes(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn note(&self, outcome: Outcome) {
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Shows all streams that are in a directory, each as often as in one.
    pub(crate) fn show<'a>(&self, listed: impl Iterator<Item = &'a str>) {
        let mut counts = BTreeMap::new();
        for stream in listed {
            *counts.entry(stream.to_owned()).or_default() += 1;
        }
        *self.listed() = counts;
    }

    fn listed(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
