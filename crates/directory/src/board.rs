//! Which streams are in a directory, and what directories have answered.

use std::collections::BTreeMap;

use base::{Labelled, Lock};

base::labels! {
    /// What came of a request, and the label in the metrics.
    pub enum Outcome {
        /// A stream is in the directory.
        Added = "added",
        /// It still is.
        Touched = "touched",
        /// It is there no more.
        Removed = "removed",
        /// The directory did not answer, or not with yes.
        Failed = "failed",
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Board {
    /// In how many directories each stream is.
    listed: Lock<BTreeMap<String, usize>>,
    /// How often it came out so.
    pub outcomes: Labelled<Outcome>,
}

impl Board {
    /// Whether a stream is in any directory.
    pub fn is_listed(&self, stream: &str) -> bool {
        self.listed.lock().contains_key(stream)
    }

    /// Shows all streams that are in a directory, each as often as in one.
    pub(crate) fn show<'a>(&self, listed: impl Iterator<Item = &'a str>) {
        let mut counts = BTreeMap::new();
        for stream in listed {
            *counts.entry(stream.to_owned()).or_default() += 1;
        }
        *self.listed.lock() = counts;
    }
}
