//! Wake-up flags of a worker's lanes: one bit per lane, and one wake-up for the worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

/// Largest number of lanes that one worker follows.
pub(super) const LANES_MAX: usize = 16_384;

const WORD_BITS: usize = u64::BITS as usize;

/// Wake-up flags of all lanes of one worker.
#[derive(Debug)]
pub(super) struct Bells {
    rung: Box<[AtomicU64]>,
    worker: Waker,
}

impl Bells {
    pub(super) fn new(worker: Waker) -> Arc<Self> {
        let rung = (0..LANES_MAX / WORD_BITS).map(|_| AtomicU64::new(0));
        Arc::new(Self {
            rung: rung.collect(),
            worker,
        })
    }

    /// Returns the waker of lane `index`, which is below [`LANES_MAX`].
    pub(super) fn bell(self: &Arc<Self>, index: usize) -> Waker {
        debug_assert!(index < LANES_MAX);
        Waker::from(Arc::new(Bell {
            bells: Arc::clone(self),
            index,
        }))
    }

    /// Calls `rang` for each lane below `count` that rang since the last call.
    pub(super) fn take(&self, count: usize, mut rang: impl FnMut(usize)) {
        let words = self.rung.iter().take(count.div_ceil(WORD_BITS));
        for (word, place) in words.enumerate() {
            if place.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = place.swap(0, Ordering::Acquire);
            while bits != 0 {
                rang(word * WORD_BITS + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

struct Bell {
    bells: Arc<Bells>,
    index: usize,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let bit = 1 << (self.index % WORD_BITS);
        self.bells.rung[self.index / WORD_BITS].fetch_or(bit, Ordering::Release);
        self.bells.worker.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ring_is_taken_once() {
        let bells = Bells::new(Waker::noop().clone());
        for index in [0, 63, 64, 700] {
            bells.bell(index).wake();
        }
        bells.bell(64).wake_by_ref();
        let mut rang = Vec::new();
        bells.take(701, |index| rang.push(index));
        assert_eq!(rang, [0, 63, 64, 700]);
        bells.take(701, |index| rang.push(index));
        assert_eq!(rang.len(), 4);
    }
}
