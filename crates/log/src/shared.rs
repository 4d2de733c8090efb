//! State that the writer and the readers of a log share.

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
    /// End of the readable bytes.
    pub(crate) committed: AtomicU64,
    /// Offset of the first byte of the oldest page.
    pub(crate) start: AtomicU64,
    /// Offset before which no listener starts, although the log may have the bytes.
    pub(crate) joins_from: AtomicU64,
    /// Kept and held pages. Locked when a page is added or dropped, when a reader (re)builds its view, and by readers
    /// of ranges; never during a visit that keeps up.
    pages: Mutex<Pages>,
    pub(crate) account: Account,
    /// Counts of readers of all kinds, including the owner of each [`Hold`](crate::Hold).
    pub(crate) readers: Readers,
}

/// Number of a log's readers. Nothing is ordered by it, and only the retention of the log depends on it.
#[derive(Debug, Default)]
pub struct Readers {
    all: AtomicUsize,
    /// Number of owners of [`Hold`](crate::Hold)s among them.
    pub(crate) holding: AtomicUsize,
}

impl Readers {
    /// Returns the number of current readers.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Counts one more reader.
    pub fn enter(&self) {
        self.all.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one reader less.
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

    /// Returns the count of its readers.
    #[must_use]
    #[inline]
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Whether it has readers, all of them owners of [`Hold`](crate::Hold)s.
    #[must_use]
    #[inline]
    pub fn is_only_held(&self) -> bool {
        let holding = self.readers.holding.load(Ordering::Relaxed);
        holding > 0 && holding >= self.readers.count()
    }

    /// Returns the end of the readable bytes; bytes below it do not change.
    #[must_use]
    #[inline]
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    /// Returns the offset of the first byte that the log keeps.
    #[must_use]
    #[inline]
    pub fn start(&self) -> u64 {
        self.start.load(Ordering::Acquire)
    }

    /// Returns the offset of the first byte that a new listener may receive.
    #[must_use]
    #[inline]
    pub fn joins_from(&self) -> u64 {
        self.joins_from.load(Ordering::Acquire)
    }

    /// Drops the oldest page, which may be one that only a [`Hold`](crate::Hold) still has. Returns `false` when there
    /// is none to spare.
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

    /// Drops pages from the old end for as long as `is_due` holds for the two oldest, and returns the number of
    /// remaining ones.
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

    /// Records that the kept pages begin at `start` now, after some were dropped and `freed` bytes were released.
    fn dropped(&self, start: u64, freed: usize) {
        self.account.release(freed);
        // If two threads drop pages at once, the higher start wins.
        self.start.fetch_max(start, Ordering::Release);
    }

    /// Returns the bytes of `range`, in the pages they lie in; `None` unless all of them can be read. A page stays in
    /// memory for as long as a piece of it is held.
    #[must_use]
    pub fn rope(&self, range: Range<u64>) -> Option<Vec<Bytes>> {
        // Loaded before the pages are looked at: the pages of all bytes below it are linked by then.
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
