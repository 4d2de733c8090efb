//! Wakes a worker, at the cost of a system call only when it has not been woken already.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// Rung by anybody, answered by its worker before it looks for what was left to it.
#[derive(Debug)]
pub(super) struct Bell {
    waker: net::Waker,
    is_rung: AtomicBool,
}

impl Bell {
    pub(super) fn new(waker: net::Waker) -> Self {
        Self {
            waker,
            is_rung: AtomicBool::new(false),
        }
    }

    /// Call it after having left something.
    pub(super) fn ring(&self) {
        if !self.is_rung.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    /// Whatever was left before a ring that this silences is seen by whoever calls it.
    pub(super) fn answer(&self) {
        self.is_rung.swap(false, Ordering::AcqRel);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
