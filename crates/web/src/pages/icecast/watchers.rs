//! The places of clients that are told all figures.

use std::sync::atomic::{AtomicU64, Ordering};

use base::Counter;

/// Clients at a time: monitors of a few people. Each has all figures computed for it.
const WATCHERS_MAX: u64 = 8;

/// The clients there are, and how many there were.
#[derive(Debug, Default)]
pub struct Watchers {
    present: AtomicU64,
    pub(super) all: Counter,
}

impl Watchers {
    pub(super) fn present(&self) -> u64 {
        self.present.load(Ordering::Relaxed)
    }

    /// A place, if there is one.
    pub fn enter(&self) -> Option<Watching<'_>> {
        // Its drop takes back what is added here.
        let watching = Watching(self);
        let before = self.present.fetch_add(1, Ordering::Relaxed);
        if before >= WATCHERS_MAX {
            return None;
        }
        self.all.add(1);
        Some(watching)
    }
}

/// The place of a client.
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
        assert_eq!(
            (watchers.present(), watchers.all.value()),
            (0, WATCHERS_MAX)
        );
    }
}
