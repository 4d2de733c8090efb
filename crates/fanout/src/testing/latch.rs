//! An answer that comes when the test permits: what gates and authorities of tests wait for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use crate::task_bells::{TaskBells, WaitSlot};

/// Closed until it is opened, for good.
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

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits until it is open; cancelled, it waits no more.
    pub async fn wait(&self) {
        let _waiting = Waiting::new(&self.waiting);
        let place = WaitSlot::new(&self.bells);
        std::future::poll_fn(|cx| {
            // From here on no opening is missed, so the look comes after.
            place.arm(cx.waker());
            match self.is_open.load(Ordering::Acquire) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
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
