//! A position in a log after which bytes are kept, up to a bound.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use media::Timestamp;

use crate::pages::HoldId;
use crate::shared::Shared;
use crate::view::View;

/// Keeps the bytes after a position of a log readable, in pages that the log would drop, until it is released, or until
/// these pages have more bytes than it may hold.
#[derive(Debug)]
pub struct Hold {
    shared: Arc<Shared>,
    id: HoldId,
}

/// State of a log as the owner of a hold finds it.
#[derive(Debug)]
pub struct Behind {
    /// Log offset of the position.
    pub at: u64,
    /// Media time of the unit that began there, if the unit is lost.
    pub lost: Option<Timestamp>,
    /// View of all pages, including held ones. For one look: while it lives, so do its pages.
    pub view: View,
}

impl Hold {
    /// Holds the bytes from `at` on, in up to `bytes_max` bytes of pages that the log would drop. Bytes that the log
    /// has dropped already are not held, and do not count as lost.
    #[must_use]
    pub fn new(shared: &Arc<Shared>, at: u64, bytes_max: usize) -> Self {
        let id = shared.pages().hold(at, bytes_max);
        shared.readers.holding.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(shared);
        Self { shared, id }
    }

    /// Returns the current position and a view of all bytes.
    #[must_use]
    pub fn look(&self) -> Behind {
        // Loaded first: the pages of all bytes below it are linked by then.
        let end = self.shared.committed();
        let pages = self.shared.pages();
        let (at, lost) = pages.behind(self.id).unwrap_or((end, None));
        let all = pages.all().cloned().collect();
        drop(pages);
        let view = View::of(Arc::clone(&self.shared), all, end);
        Behind { at, lost, view }
    }

    /// Moves the position to `at`, releasing everything before it. `begins` is the time of the unit that begins there.
    pub fn advance(&self, at: u64, begins: Timestamp) {
        let freed = self.shared.pages().advance(self.id, at, begins);
        self.shared.account.release(freed);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.shared.readers.holding.fetch_sub(1, Ordering::Relaxed);
        let freed = self.shared.pages().release(self.id);
        self.shared.account.release(freed);
    }
}
