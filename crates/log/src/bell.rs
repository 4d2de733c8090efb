//! Wake-up of a worker for a lane, at most once per sleep.
//!
//! A worker that has sent everything *arms* the bell and looks at the log once more; the writer commits and then
//! *rings*. Whatever the interleaving, either the worker sees the new bytes or the writer sees the armed bell: the two
//! fences rule out the outcome where neither does.

use crate::sync::{AtomicU32, Ordering, fence};

/// Value of a bell that is not armed.
const SILENT: u32 = 0;

/// One worker's request to be woken for one lane.
#[derive(Debug)]
pub struct Bell {
    /// [`SILENT`], or one more than the lane's index in its worker.
    armed: AtomicU32,
}

impl Default for Bell {
    /// Creates a bell that is not armed.
    fn default() -> Self {
        Self {
            armed: AtomicU32::new(SILENT),
        }
    }
}

impl Bell {
    /// Requests a ring at the next commit. The caller must look for news once more afterwards.
    #[inline]
    pub fn arm(&self, lane_index: u32) {
        self.armed.store(lane_index + 1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Withdraws the request.
    #[inline]
    pub fn disarm(&self) {
        self.armed.store(SILENT, Ordering::Relaxed);
    }

    /// Rings after a commit; returns the lane index to wake the worker for, if it has armed the bell.
    #[must_use]
    #[inline]
    pub fn ring(&self) -> Option<u32> {
        fence(Ordering::SeqCst);
        if self.armed.load(Ordering::Relaxed) == SILENT {
            return None;
        }
        match self.armed.swap(SILENT, Ordering::AcqRel) {
            SILENT => None,
            armed => Some(armed - 1),
        }
    }
}
