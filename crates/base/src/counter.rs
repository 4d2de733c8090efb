//! A number that some threads write and any thread reads.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter or a gauge. Nothing is ordered by it.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the value.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Subtracts from the value; only as much as was added.
    #[inline]
    pub fn sub(&self, count: u64) {
        let before = self.0.fetch_sub(count, Ordering::Relaxed);
        debug_assert!(before >= count, "nothing is taken that was not added");
    }

    /// Replaces the value; for gauges.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Returns the current value.
    #[must_use]
    #[inline]
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
