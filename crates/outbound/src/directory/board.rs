//! Board of streams listed in directories, and counts of the directories' responses.

use std::collections::BTreeMap;

use base::{Labelled, Lock};

base::labels! {
    /// Result of a request, and its label in the metrics.
    pub enum Outcome {
        /// A stream is now in the directory.
        Added = "added",
        /// A stream's entry is still in the directory.
        Touched = "touched",
        /// A stream's entry is removed.
        Removed = "removed",
        /// The directory did not respond, or refused.
        Failed = "failed",
    }
}

/// Listed streams, and counts of results.
#[derive(Debug, Default)]
pub struct Board {
    /// Number of directories that list each stream.
    listed: Lock<BTreeMap<String, usize>>,
    /// Requests by result.
    pub outcomes: Labelled<Outcome>,
}

impl Board {
    /// Whether a stream is in any directory.
    pub fn is_listed(&self, stream: &str) -> bool {
        self.listed.lock().contains_key(stream)
    }

    /// Replaces the listed streams by these, given once for each directory that lists them.
    pub(crate) fn show<'a>(&self, listed: impl Iterator<Item = &'a str>) {
        let mut counts = BTreeMap::new();
        for stream in listed {
            *counts.entry(stream.to_owned()).or_default() += 1;
        }
        *self.listed.lock() = counts;
    }
}
