//! What all uploads together have done.

use std::sync::Arc;

use base::{Counter, Labelled};
use journal::{Health, State};

base::labels! {
    /// How an attempt to copy a recording ended.
    pub enum Outcome {
        /// The copy is there.
        Stored = "stored",
        /// The storage takes none from us: the credentials, their rights or the bucket's name are wrong.
        Refused = "refused",
        /// Another object has its name.
        Taken = "taken",
        /// It is tried again.
        Failed = "failed",
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Counts {
    /// Attempts by their outcomes.
    pub outcomes: Labelled<Outcome>,
    /// Bytes of complete recordings of which there is no copy yet.
    pub backlog: Counter,
    pub(crate) journal: Arc<Health>,
}

impl Counts {
    /// How the file fares in which it is written down what has arrived.
    pub fn journal(&self) -> State {
        self.journal.state()
    }
}
