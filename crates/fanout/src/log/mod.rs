//! The log: one lane's final wire bytes, appended by one writer and read by many.
//!
//! ```text
//!  start                                            committed      written
//!    │                                                  │             │
//!    ▼                                                  ▼             ▼
//!  ┌────────── page ──────────┬────────── page ─────────┬─────┐
//!  │unit│unit │ unit  │ unit ··· unit │unit│  unit      │open │
//!  └──▲───────────────▲─────────────────▲───────────────┴─────┘
//!    join            join              join
//! ```
//!
//! * Offsets count bytes since the log began and never repeat.
//! * A *unit* is the smallest run of bytes that makes sense alone in the format: an FLV tag, an MP3
//!   frame, an Ogg page. `committed` only ever rests on a unit boundary.
//! * Bytes below `committed` never change. The writer stores `committed` with release ordering after
//!   writing them, and a reader that loads it with acquire ordering may read everything below it;
//!   nothing else orders the two. The loom model in this module proves exactly that.
//! * Pages are dropped from the old end when the log exceeds its retention, by its writer, and when memory is
//!   short, by any log's writer that needs some (see [`budget`](crate::budget)); never the last two, and none
//!   that holds bytes not yet committed. A [`View`] keeps alive the pages it still knows, until its next
//!   refresh.
//! * A dropped page that a [`Hold`] still needs is kept for it, up to the hold's own bound, and counted as
//!   if it had not been dropped. When memory is short such pages are the first to go.
//! * A log that nothing but holds reads keeps less for all, in smaller pages.
//! * Each page carries the index of the units that begin in it, append-only like the bytes.
//!
//! The lane's writer side is in [`Writer`], used under the stream's lock; workers and `LogReader`
//! use [`View`].

mod cells;
mod entries;
mod hold;
mod lead;
#[cfg(all(test, loom))]
mod loom_model;
#[cfg(any(all(test, not(loom)), fuzzing))]
pub(crate) mod model;
mod page;
mod pages;
mod view;
mod writer;

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use media::Span;

pub(crate) use hold::{Behind, Hold};
pub use lead::Lead;
use page::Page;
pub(crate) use page::Unit;
use pages::Pages;
use view::PageBytes;
pub(crate) use view::View;
pub(crate) use writer::Writer;

use crate::budget::Account;
use crate::sync::{AtomicU64, Ordering};

/// What a listener that starts at a join point is given first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Preamble {
    /// The whole preamble, for a new listener.
    pub bytes: Bytes,
    /// Where in `bytes` the part begins that a listener needs that has read this lane before: it skips what may
    /// stand only at the very start, such as a file header.
    pub resume_from: usize,
    /// Changes whenever the codec headers in force change. A listener that skips within one
    /// generation needs no preamble.
    pub generation: u32,
    /// What of the log comes before `bytes`; `None` in most formats.
    pub lead: Option<Lead>,
}

/// How a listener may come to, or go from, the start of a unit.
#[derive(Clone, Debug)]
pub enum Entry {
    /// No listener may start here.
    None,
    /// No listener may start here, and one that skips ahead may not leave just before it either.
    Sealed,
    /// A listener may start here once it has the preamble.
    Join(Arc<Preamble>),
}

/// How much a log keeps, and in which pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of one page.
    pub(crate) page_bytes: usize,
    /// Units that may begin in one page.
    pub(crate) page_units: usize,
    /// Upper bound on pages.
    pub(crate) pages_max: usize,
    /// Upper bound on media time, rounded up to whole pages.
    pub(crate) time_max: Span,
    /// The same while nothing but [`Hold`]s reads it: what these are behind by is kept for them besides.
    pub(crate) lean_max: Span,
    /// What a joiner would start at stays longer, up to this much media time.
    pub(crate) join_max: Span,
}

impl Limits {
    /// Bytes of memory that the log keeps whatever happens.
    pub(crate) const fn floor(&self) -> usize {
        PAGES_MIN * self.page_weight()
    }

    const fn page_weight(&self) -> usize {
        Page::weight_of(self.page_bytes, self.page_units)
    }

    /// The same with smaller pages, for a log that nothing but [`Hold`]s reads: of the time that it keeps a usual page
    /// would be most. What they are behind by beyond that is kept for them besides.
    const fn lean(mut self) -> Self {
        self.page_bytes = self.page_bytes.div_ceil(LEAN_PART);
        self.page_units = self.page_units.div_ceil(LEAN_PART);
        self.time_max = self.lean_max;
        self
    }
}

/// A page of a log that nothing but [`Hold`]s reads is one part in this many of a usual one: a quarter of a second of
/// a usual stream.
const LEAN_PART: usize = 8;

/// The fewest pages kept, whatever the limits say: the one being written and the one before it.
const PAGES_MIN: usize = 2;

/// State shared by writer and readers.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Readable bytes end here.
    committed: AtomicU64,
    /// First byte of the oldest page.
    start: AtomicU64,
    /// Locked when a page is added or dropped, when a reader (re)builds its view, and by readers of
    /// ranges; never during a visit that keeps up.
    pages: Mutex<Pages>,
    account: Account,
    /// Readers of all kinds, each [`Hold`]'s owner included.
    readers: Readers,
}

/// How many read a log. Nothing is ordered by it.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    all: AtomicUsize,
    /// The owners of [`Hold`]s among them.
    holding: AtomicUsize,
}

impl Readers {
    pub(crate) fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    pub(crate) fn enter(&self) {
        self.all.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        let before = self.all.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "each reader counts once");
    }
}

impl Shared {
    /// Who reads it.
    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Whether it is read, by nothing but [`Hold`]s' owners.
    pub(crate) fn is_only_held(&self) -> bool {
        let holding = self.readers.holding.load(Ordering::Relaxed);
        holding > 0 && holding >= self.readers.count()
    }

    /// Readable bytes end here; what lies below stays as it is.
    pub(crate) fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    /// First byte that the log keeps.
    pub(crate) fn start(&self) -> u64 {
        self.start.load(Ordering::Acquire)
    }

    /// What the stream holds, and this log of it.
    pub(crate) fn held(&self) -> (usize, usize) {
        self.account.held()
    }

    /// Gives up the oldest page, which may be one that only a [`Hold`] still has. `false` when there is none to
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
    fn evict(&self, mut is_due: impl FnMut(&Pages) -> bool) -> usize {
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
    pub(crate) fn rope(&self, range: Range<u64>) -> Option<Vec<Bytes>> {
        // Loaded before the pages are looked at: those of all bytes below it are linked by then.
        if range.end > self.committed() {
            return None;
        }
        let pieces = self.pages().pieces(&range)?;
        let bytes = pieces.into_iter().map(|(page, range)| {
            let piece = PageBytes::new(page, range.start, range.end);
            Bytes::from_owner(piece)
        });
        Some(bytes.collect())
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
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
