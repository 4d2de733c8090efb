//! A latch that the test opens: gates and authorities of tests wait for it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::task_bells::TaskBells;

/// A latch that is closed until opened, and then stays open.
#[derive(Debug, Default)]
pub struct Latch {
    is_open: AtomicBool,
    waiting: AtomicUsize,
    bells: TaskBells,
}

impl Latch {
    /// Releases the waiters, present and future.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::Release);
        self.bells.ring();
    }

    /// Returns the number of waiters.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits until it is open; cancel safe.
    pub async fn wait(&self) {
        let _waiting = Waiting::new(&self.waiting);
        let is_open = || self.is_open.load(Ordering::Acquire).then_some(());
        self.bells.wait_for(is_open).await;
    }
}

/// Counts one waiter for as long as it waits.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
