//! State of the guards, as the operator's port shows it, and counts of their outcomes.

use std::collections::BTreeMap;

use base::{Counter, Labelled, Lock};
use media::StreamName;

use crate::fallback::machine::Outcome;

/// State of each guard; [`list`](Self::list) returns all. There are as many entries as guards.
#[derive(Debug, Default)]
pub struct Board(Lock<BTreeMap<StreamName, Shown>>);

/// Displayed state of a guard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shown {
    /// Stream that listeners receive while the publisher is away.
    pub fallback: StreamName,
    /// Whether listeners receive it although the publisher is present, by the operator's order.
    pub is_move: bool,
    /// Current state.
    pub state: State,
}

/// State of a guard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// The stream has its publisher, or nobody wants it.
    Waiting,
    /// Listeners receive the fallback.
    Playing,
    /// Listeners cannot receive the fallback, for this reason.
    Refused(String),
}

impl State {
    /// Returns its name in the API.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Playing => "playing",
            Self::Refused(_) => "refused",
        }
    }
}

impl Board {
    /// Returns all guards, by their streams.
    pub fn list(&self) -> Vec<(StreamName, Shown)> {
        let entries = self.0.lock();
        let entries = entries.iter();
        entries
            .map(|(name, shown)| (name.clone(), shown.clone()))
            .collect()
    }

    pub(crate) fn show(&self, name: &StreamName, shown: Shown) {
        self.0.lock().insert(name.clone(), shown);
    }

    pub(crate) fn clear(&self, name: &StreamName) {
        self.0.lock().remove(name);
    }
}

/// Counts of all guards.
#[derive(Debug, Default)]
pub struct Stats {
    /// Occurrences of each outcome.
    pub outcomes: Labelled<Outcome>,
    /// Media bytes that feeds have written.
    pub bytes: Counter,
}
