//! One budget for the memory of all logs.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes that log pages hold. Above the limit, lanes keep only what present listeners
/// are reading, and no new lane opens.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    max: usize,
}

impl Budget {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            max,
        }
    }

    pub(crate) fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "pages are released once");
    }

    pub(crate) fn exceeded(&self) -> bool {
        self.used() > self.max
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}
