//! One budget for the memory of all logs.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::stats::Counter;

/// The part of the budget that is left for the lanes that are open: one in so many.
const RESERVED_PART: usize = 16;

/// Counts the bytes that log pages hold. Above the limit, lanes keep only what present listeners
/// are reading. Somewhat below it no new lane opens, so that it is newcomers who feel it first.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    max: usize,
    /// Lanes that were not opened.
    pub(crate) refused: Counter,
}

impl Budget {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            max,
            refused: Counter::default(),
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

    /// Whether there is nothing left for another lane; counts it if so.
    pub(crate) fn refuses(&self) -> bool {
        let refuses = self.used() > self.lanes_max();
        self.refused.add(u64::from(refuses));
        refuses
    }

    /// Bytes above which no new lane opens.
    pub(crate) fn lanes_max(&self) -> usize {
        self.max - self.max / RESERVED_PART
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomers_feel_it_before_those_who_are_there() {
        let budget = Budget::new(1_600);
        budget.take(1_500);
        assert!(!budget.refuses());
        budget.take(1);
        assert!(budget.refuses() && !budget.exceeded());
        assert_eq!(budget.refused.value(), 1);
        budget.release(1);
        assert!(!budget.refuses());
    }
}
