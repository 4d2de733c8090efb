//! News of a stream: that what is said of it has changed, for tasks that wait until it has.
//!
//! A task notes how much news there was, looks at the stream, and sleeps until there is more. The stream
//! rings when a track is announced or identified, when media begins, when the order of its pictures shows,
//! when what is offered beside them changes, and in each change of its phase: a few times per epoch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use crate::task_bells::{WaitSlot, TaskBells};

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct News {
    count: AtomicU64,
    bells: TaskBells,
}

impl News {
    /// Something has changed; called after the change, under the stream's lock.
    pub(super) fn ring(&self) {
        self.count.fetch_add(1, Ordering::Release);
        self.bells.ring();
    }

    /// How much there has been. To be noted before the look that finds nothing.
    pub(crate) fn seen(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Waits until there is more than was `seen`.
    pub(crate) async fn after(&self, seen: u64) {
        let place = WaitSlot::new(&self.bells);
        std::future::poll_fn(|cx| {
            place.arm(cx.waker());
            match self.seen() == seen {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
    }
}
