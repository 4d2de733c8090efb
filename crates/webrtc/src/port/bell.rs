//! Wake-up of a worker; it costs a system call only if the worker has not been woken already.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// Bell that any thread rings, and that its worker answers before it looks for queued work.
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

    /// Wakes the worker; must be called after queueing work.
    pub(super) fn ring(&self) {
        if !self.is_rung.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    /// Clears the bell. Work that was queued before a ring that this clears is visible to the caller.
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
