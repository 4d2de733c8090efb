//! Wake-up of a sleeping worker by a stream's writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bound on the lanes one worker serves at once; bounds the set of marks a wake-up has to look through.
pub(crate) const LANES_MAX: u32 = 16_384;

const WORDS: usize = (LANES_MAX as usize).div_ceil(64);

/// The set of lanes that have news for a worker, and the means to wake it.
#[derive(Clone, Debug)]
pub(crate) struct WorkerWaker {
    lanes: Arc<[AtomicU64]>,
    waker: net::Waker,
}

impl WorkerWaker {
    pub(crate) fn new(waker: net::Waker) -> Self {
        Self {
            lanes: (0..WORDS).map(|_| AtomicU64::new(0)).collect(),
            waker,
        }
    }

    /// Marks a lane and wakes the worker. An index that has been reused since causes a visit that
    /// finds nothing.
    pub(crate) fn call(&self, lane_index: u32) {
        let index = lane_index as usize;
        self.lanes[index / 64].fetch_or(1 << (index % 64), Ordering::Release);
        self.waker.wake();
    }

    /// Wakes the worker for its inbox.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Takes all marks; called by the worker.
    pub(crate) fn take(&self, mut each: impl FnMut(u32)) {
        for (word_index, word) in self.lanes.iter().enumerate() {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = word.swap(0, Ordering::Acquire);
            while bits != 0 {
                each((word_index * 64) as u32 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
}
