//! The wish of a stream's viewers for a keyframe, on its way to the one who can ask for it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by any number of viewers, taken by the publisher: however many wish, it is one wish.
#[derive(Debug, Default)]
pub(crate) struct KeyframeWish(AtomicBool);

impl KeyframeWish {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// It has been passed on, or came true.
    pub(crate) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
