//! Places of the clients that are sent all statistics.

use std::sync::atomic::{AtomicU64, Ordering};

use base::Counter;

/// Maximum number of such clients at a time: monitors of a few people. All statistics are computed for each client.
const WATCHERS_MAX: u64 = 8;

/// Numbers of present clients, and of all clients so far.
#[derive(Debug, Default)]
pub struct Watchers {
    present: AtomicU64,
    pub(super) all: Counter,
}

impl Watchers {
    pub(super) fn present(&self) -> u64 {
        self.present.load(Ordering::Relaxed)
    }

    /// Returns a place, if one is free.
    pub fn enter(&self) -> Option<Watching<'_>> {
        // Dropping it takes back the increment below.
        let watching = Watching(self);
        let before = self.present.fetch_add(1, Ordering::Relaxed);
        if before >= WATCHERS_MAX {
            return None;
        }
        self.all.add(1);
        Some(watching)
    }
}

/// Place of one client.
#[derive(Debug)]
pub struct Watching<'a>(&'a Watchers);

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_few_and_given_back() {
        let watchers = Watchers::default();
        let all: Vec<_> = (0..WATCHERS_MAX).filter_map(|_| watchers.enter()).collect();
        assert_eq!(all.len() as u64, WATCHERS_MAX);
        assert!(watchers.enter().is_none());
        assert_eq!(watchers.present(), WATCHERS_MAX);
        drop(all);
        assert_eq!(watchers.present(), 0);
        assert_eq!(watchers.all.value(), WATCHERS_MAX);
    }
}
