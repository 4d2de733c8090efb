//! Which pages a log has: those that its limits allow, and those that are held for a reader that is behind.
//!
//! ```text
//!  held: for holds           kept: for all readers
//!  ┌──────┬──────┬──────┐    ┌──────┬──────┬──────┬──────┐
//!  │      │      │      │    │ start                     │
//!  └──▲───┴──────┴──────┘    └──────┴──────┴──────┴──────┘
//!    hold
//! ```
//!
//! Both are one run of offsets without a gap, the held ones right before the kept ones.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use media::Timestamp;

use crate::PAGES_MIN;
use crate::page::Page;

/// Names a hold of a log.
pub(crate) type HoldId = u64;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Oldest first; never empty.
    kept: VecDeque<Arc<Page>>,
    /// Oldest first.
    held: VecDeque<Arc<Page>>,
    holds: Vec<Holding>,
    next_id: HoldId,
}

/// What the owner of a hold still needs.
#[derive(Debug)]
struct Holding {
    id: HoldId,
    /// The unit that begins here, and all that follow.
    at: u64,
    /// Bytes of pages held for it at most.
    bytes_max: usize,
    /// The time of the unit at `at`, if that is gone.
    lost: Option<Timestamp>,
}

impl Pages {
    pub(crate) fn new(first: Arc<Page>) -> Self {
        Self {
            kept: VecDeque::from([first]),
            held: VecDeque::new(),
            holds: Vec::new(),
            next_id: 0,
        }
    }

    /// What the log has for all its readers, oldest first.
    pub(crate) fn kept(&self) -> &VecDeque<Arc<Page>> {
        &self.kept
    }

    /// How many pages are kept.
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// First byte of the oldest page that is kept.
    pub(crate) fn start(&self) -> u64 {
        self.kept.front().map_or(0, |oldest| oldest.base)
    }

    pub(crate) fn push(&mut self, page: Arc<Page>) {
        self.kept.push_back(page);
    }

    /// Bytes of memory of all pages.
    pub(crate) fn weight(&self) -> usize {
        self.all().map(|page| page.weight()).sum()
    }

    /// All pages, oldest first.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Arc<Page>> {
        self.held.iter().chain(&self.kept)
    }

    /// Whether the oldest kept page is not among the last ones, and holds no bytes beyond `committed`.
    pub(crate) fn may_drop(&self, committed: u64) -> bool {
        let next = self.kept.get(1);
        self.kept.len() > PAGES_MIN && next.is_some_and(|next| next.base <= committed)
    }

    /// Drops the oldest kept page, or moves it to the held ones if a hold needs it and it `may_be_held`.
    /// Returns the bytes of memory that were released.
    pub(crate) fn drop_oldest(&mut self, may_be_held: bool) -> usize {
        let Some(page) = self.kept.pop_front() else {
            return 0;
        };
        if may_be_held && self.holds.iter().any(|hold| hold.at < self.start()) {
            self.held.push_back(page);
            return self.trim();
        }
        let freed = self.let_go_all_held();
        let end = self.start();
        self.miss(&page, end);
        freed + page.weight()
    }

    /// Releases the oldest held page, and returns its bytes of memory.
    pub(crate) fn let_go_held(&mut self) -> usize {
        let Some(page) = self.held.pop_front() else {
            return 0;
        };
        let end = self
            .held
            .front()
            .map_or_else(|| self.start(), |next| next.base);
        self.miss(&page, end);
        page.weight()
    }

    fn let_go_all_held(&mut self) -> usize {
        let mut freed = 0;
        while !self.held.is_empty() {
            freed += self.let_go_held();
        }
        freed
    }

    /// Holds that need a unit that begins in `page`, which ends at `end`, have lost it.
    fn miss(&mut self, page: &Page, end: u64) {
        for hold in self.holds.iter_mut().filter(|hold| hold.at < end) {
            if hold.lost.is_none() {
                hold.lost = page.unit_at_or_after(hold.at).map(|unit| unit.at);
            }
        }
    }

    /// Releases held pages that are not needed, or exceed the bounds of all holds that need them. Returns their
    /// bytes of memory.
    fn trim(&mut self) -> usize {
        let mut freed = 0;
        let mut weight: usize = self.held.iter().map(|page| page.weight()).sum();
        while !self.held.is_empty() {
            let end = self
                .held
                .get(1)
                .map_or_else(|| self.start(), |next| next.base);
            let allows = |hold: &Holding| hold.at < end && weight <= hold.bytes_max;
            if self.holds.iter().any(allows) {
                break;
            }
            let released = self.let_go_held();
            weight -= released;
            freed += released;
        }
        freed
    }

    /// Holds what begins at `at`, as far as it is kept, and all that follows, in up to `bytes_max` bytes
    /// of pages that the log would drop.
    pub(crate) fn hold(&mut self, at: u64, bytes_max: usize) -> HoldId {
        let at = at.max(self.start());
        let id = self.next_id;
        self.next_id += 1;
        self.holds.push(Holding {
            id,
            at,
            bytes_max,
            lost: None,
        });
        id
    }

    /// Where a hold is, and the time of the unit there if that is gone.
    pub(crate) fn behind(&self, id: HoldId) -> Option<(u64, Option<Timestamp>)> {
        let hold = self.holds.iter().find(|hold| hold.id == id)?;
        Some((hold.at, hold.lost))
    }

    /// What precedes `at` is no longer needed; `begins` is the time of the unit there. Returns the bytes of
    /// memory that were released.
    pub(crate) fn advance(&mut self, id: HoldId, at: u64, begins: Timestamp) -> usize {
        let oldest = self.all().next().map_or(0, |page| page.base);
        if let Some(hold) = self.holds.iter_mut().find(|hold| hold.id == id) {
            hold.at = at;
            hold.lost = (at < oldest).then_some(begins);
        }
        self.trim()
    }

    /// Removes a hold. Returns the bytes of memory that were released.
    pub(crate) fn release(&mut self, id: HoldId) -> usize {
        self.holds.retain(|hold| hold.id != id);
        self.trim()
    }

    /// Where the bytes of `range` lie; `None` if the first of them are gone.
    pub(crate) fn pieces(&self, range: &Range<u64>) -> Option<Vec<(Arc<Page>, Range<u64>)>> {
        let (pages, first) = match self.kept_from(range.start) {
            Some(first) => (None, first),
            None => (Some(&self.held), 0),
        };
        let held = pages.into_iter().flatten();
        let mut all = held.chain(self.kept.range(first..)).peekable();
        if all.peek().is_none_or(|page| page.base > range.start) {
            return None;
        }
        let mut pieces = Vec::new();
        while let Some(page) = all.next().filter(|page| page.base < range.end) {
            let end = all
                .peek()
                .map_or(range.end, |next| next.base.min(range.end));
            let from = page.base.max(range.start);
            if from < end {
                pieces.push((Arc::clone(page), from..end));
            }
        }
        Some(pieces)
    }

    /// Index of the kept page that `offset` lies in, or that it would lie in behind the last.
    fn kept_from(&self, offset: u64) -> Option<usize> {
        let later = self.kept.partition_point(|page| page.base <= offset);
        later.checked_sub(1)
    }
}
