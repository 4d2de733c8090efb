//! A waker that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// A waker's task that counts its wake-ups.
#[derive(Debug, Default)]
pub struct Alarm(AtomicUsize);

impl Alarm {
    /// Returns an alarm that has not been woken, and its waker.
    pub fn with_waker() -> (Arc<Self>, Waker) {
        let alarm = Arc::<Self>::default();
        (Arc::clone(&alarm), Waker::from(alarm))
    }

    /// Returns the number of wake-ups so far.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
