//! What guards are doing, as the operator's port shows it, and what they have done.

use std::collections::BTreeMap;

use base::{Counter, Labelled, Lock};
use media::StreamName;

use crate::machine::Outcome;

/// What each guard is doing. There are as many entries as guards.
#[derive(Debug, Default)]
pub struct Board(Lock<BTreeMap<StreamName, Shown>>);

/// A guard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shown {
    /// The stream that is heard while the publisher is away.
    pub fallback: StreamName,
    /// It is heard although the publisher is here, because the operator has ordered so.
    pub is_move: bool,
    /// Whether it is.
    pub state: State,
}

/// What a guard is doing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// The stream has its publisher, or nobody wants it.
    Waiting,
    /// The fallback is heard.
    Playing,
    /// The fallback cannot be heard; why.
    Refused(String),
}

impl State {
    /// Its name in the API.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Playing => "playing",
            Self::Refused(_) => "refused",
        }
    }
}

impl Board {
    /// All guards, by their streams.
    pub fn list(&self) -> Vec<(StreamName, Shown)> {
        let entries = self.0.lock();
        let entries = entries.iter();
        entries
            .map(|(name, shown)| (name.clone(), shown.clone()))
            .collect()
    }

    pub(crate) fn show(
        &self,
        name: &StreamName,
        fallback: &StreamName,
        is_move: bool,
        state: State,
    ) {
        let shown = Shown {
            fallback: fallback.clone(),
            is_move,
            state,
        };
        self.0.lock().insert(name.clone(), shown);
    }

    pub(crate) fn clear(&self, name: &StreamName) {
        self.0.lock().remove(name);
    }
}

/// Counts of all guards.
#[derive(Debug, Default)]
pub struct Stats {
    /// How often it came out so.
    pub outcomes: Labelled<Outcome>,
    /// Media bytes that feeds have written.
    pub bytes: Counter,
}
