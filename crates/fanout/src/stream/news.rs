//! News of a stream: changes of its description, for tasks that wait for one.
//!
//! A task notes the count of news, looks at the stream, and sleeps until the count grows. The stream signals when a
//! track is announced or identified, when media begins, when the order of its frames is known, when the derived offer
//! changes, and in each change of its phase: a few times per epoch; and when its title changes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::task_bells::TaskBells;

/// Count of changes, with the tasks that wait for the next one.
#[derive(Debug, Default)]
pub(crate) struct News {
    count: AtomicU64,
    bells: TaskBells,
}

impl News {
    /// Signals a change of the description; called after the change, under the stream's lock.
    pub(super) fn ring(&self) {
        self.count.fetch_add(1, Ordering::Release);
        self.bells.ring();
    }

    /// Returns the count so far. To be noted before the look that finds nothing.
    pub(crate) fn seen(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Waits until the count is above `seen`.
    pub(crate) async fn after(&self, seen: u64) {
        let is_more = || (self.seen() != seen).then_some(());
        self.bells.wait_for(is_more).await;
    }
}
