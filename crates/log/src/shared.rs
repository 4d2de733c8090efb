//! What the writer and the readers of a log have in common.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::budget::Account;
use crate::page::Page;
use crate::pages::Pages;
use crate::sync::{AtomicU64, Ordering};
use crate::view::PageBytes;

/// The log, as its writer and all its readers share it. Created by its [`Writer`](crate::Writer).
#[derive(Debug)]
pub struct Shared {
    /// Readable bytes end here.
    pub(crate) committed: AtomicU64,
    /// First byte of the oldest page.
    pub(crate) start: AtomicU64,
    /// No listener starts before this byte, although the log may have it.
    pub(crate) joins_from: AtomicU64,
    /// Locked when a page is added or dropped, when a reader (re)builds its view, and by readers of
    /// ranges; never during a visit that keeps up.
    pages: Mutex<Pages>,
    pub(crate) account: Account,
    /// Readers of all kinds, each [`Hold`](crate::Hold)'s owner included.
    pub(crate) readers: Readers,
}

/// How many read a log. Nothing is ordered by it, and nothing but how much the log keeps depends on it.
#[derive(Debug, Default)]
pub struct Readers {
    all: AtomicUsize,
    /// The owners of [`Hold`](crate::Hold)s among them.
    pub(crate) holding: AtomicUsize,
}

impl Readers {
    /// Readers now.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Counts one more.
    pub fn enter(&self) {
        self.all.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one less.
    pub fn leave(&self) {
        let before = self.all.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "each reader counts once");
    }
}

impl Shared {
    pub(crate) fn new(first: Arc<Page>, account: Account) -> Self {
        Self {
            committed: AtomicU64::new(0),
            start: AtomicU64::new(0),
            joins_from: AtomicU64::new(0),
            pages: Mutex::new(Pages::new(first)),
            account,
            readers: Readers::default(),
        }
    }

    /// Counts who reads it.
    #[must_use]
    #[inline]
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Whether it is read, by nothing but owners of [`Hold`](crate::Hold)s.
    #[must_use]
    #[inline]
    pub fn is_only_held(&self) -> bool {
        let holding = self.readers.holding.load(Ordering::Relaxed);
        holding > 0 && holding >= self.readers.count()
    }

    /// Readable bytes end here; what lies below stays as it is.
    #[must_use]
    #[inline]
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    /// First byte that the log keeps.
    #[must_use]
    #[inline]
    pub fn start(&self) -> u64 {
        self.start.load(Ordering::Acquire)
    }

    /// First byte that a new listener may be sent.
    #[must_use]
    #[inline]
    pub fn joins_from(&self) -> u64 {
        self.joins_from.load(Ordering::Acquire)
    }

    /// What the stream holds, and this log of it.
    pub(crate) fn held(&self) -> (usize, usize) {
        self.account.held()
    }

    /// Gives up the oldest page, which may be one that only a [`Hold`](crate::Hold) still has. `false` when there is none to
    /// spare.
    pub(crate) fn give_up(&self) -> bool {
        let committed = self.committed.load(Ordering::Relaxed);
        let mut pages = self.pages();
        let freed = match pages.let_go_held() {
            0 if pages.may_drop(committed) => pages.drop_oldest(false),
            freed => freed,
        };
        let start = pages.start();
        drop(pages);
        self.dropped(start, freed);
        freed > 0
    }

    /// Drops pages from the old end for as long as `is_due` holds for the two oldest, and returns how many are
    /// left.
    pub(crate) fn evict(&self, mut is_due: impl FnMut(&Pages) -> bool) -> usize {
        let committed = self.committed.load(Ordering::Relaxed);
        let mut pages = self.pages();
        let mut freed = 0;
        while pages.may_drop(committed) && is_due(&pages) {
            freed += pages.drop_oldest(true);
        }
        let (start, left) = (pages.start(), pages.len());
        drop(pages);
        self.dropped(start, freed);
        left
    }

    /// Records that the kept pages begin at `start` now, after some were dropped and `freed` bytes were
    /// released.
    fn dropped(&self, start: u64, freed: usize) {
        self.account.release(freed);
        // Of two threads that drop pages at once the one that dropped more has the last word.
        self.start.fetch_max(start, Ordering::Release);
    }

    /// The bytes of `range`, in the pages they lie in; `None` unless all of them can be read. A page
    /// stays in memory for as long as something of it is held.
    #[must_use]
    pub fn rope(&self, range: Range<u64>) -> Option<Vec<Bytes>> {
        // Loaded before the pages are looked at: those of all bytes below it are linked by then.
        if range.end > self.committed() {
            return None;
        }
        let pieces = self.pages().pieces(&range)?;
        let bytes = pieces.into_iter().map(|(page, range)| {
            // SAFETY: the whole range ends below `committed`, which was loaded above with acquire ordering.
            #[allow(unsafe_code)]
            let piece = unsafe { PageBytes::new(page, range.start, range.end) };
            Bytes::from_owner(piece)
        });
        Some(bytes.collect())
    }

    pub(crate) fn pages(&self) -> MutexGuard<'_, Pages> {
        // The list is valid between any two statements of its users.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let held = self.pages().weight();
        self.account.release(held);
    }
}
