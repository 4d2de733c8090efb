//! Health of a journal file, for monitoring.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Health of a file. Any number of threads may read it.
#[derive(Debug, Default)]
pub struct Health {
    is_failing: AtomicBool,
    damaged: AtomicU64,
}

/// Snapshot of [`Health`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct State {
    /// Whether the last use of the file failed.
    pub is_failing: bool,
    /// Number of damaged files that were set aside.
    pub damaged: u64,
}

impl Health {
    /// Returns the present state of the file.
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
