//! How a file fares, for those who watch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module's description. Any number of threads ask.
#[derive(Debug, Default)]
pub struct Health {
    is_failing: AtomicBool,
    damaged: AtomicU64,
}

/// What [`Health`] says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct State {
    /// The last use of the file failed.
    pub is_failing: bool,
    /// Damaged files that were set aside.
    pub damaged: u64,
}

impl Health {
    /// How the file fares now.
    pub fn state(&self) -> State {
        State {
            is_failing: self.is_failing.load(Ordering::Relaxed),
            damaged: self.damaged.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn used(&self, has_failed: bool) {
        self.is_failing.store(has_failed, Ordering::Relaxed);
    }

    pub(crate) fn was_damaged(&self) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
    }
}
