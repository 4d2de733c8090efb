//! Counters over all uploads.

use std::sync::Arc;

use crate::journal::{Health, State};
use base::{Counter, Labelled};

base::labels! {
    /// Result of an attempt to copy a recording.
    pub enum Outcome {
        /// The copy is stored.
        Stored = "stored",
        /// The storage accepts nothing from this server: the credentials, their rights or the bucket's name are wrong.
        Refused = "refused",
        /// Another object has the name.
        Taken = "taken",
        /// The attempt failed, and is repeated.
        Failed = "failed",
    }
}

/// Totals over all uploads.
#[derive(Debug, Default)]
pub struct Counts {
    /// Attempts by outcome.
    pub outcomes: Labelled<Outcome>,
    /// Bytes of complete recordings that have no copy yet.
    pub backlog: Counter,
    pub(crate) journal: Arc<Health>,
}

impl Counts {
    /// Returns the state of the journal of arrived parts.
    pub fn journal(&self) -> State {
        self.journal.state()
    }
}
