//! Pages of a log: those that its limits allow, and those that are held for a reader that is behind.
//!
//! ```text
//!  held: for holds           kept: for all readers
//!  ┌──────┬──────┬──────┐    ┌──────┬──────┬──────┬──────┐
//!  │      │      │      │    │ start                     │
//!  └──▲───┴──────┴──────┘    └──────┴──────┴──────┴──────┘
//!    hold
//! ```
//!
//! Both are one run of offsets without a gap, with the held pages right before the kept ones.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use media::Timestamp;

use crate::PAGES_MIN;
use crate::page::Page;

/// Identifier of a hold within a log.
pub(crate) type HoldId = u64;

/// Kept and held pages of a log, with its holds.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Kept pages, oldest first; never empty.
    kept: VecDeque<Arc<Page>>,
    /// Held pages, oldest first.
    held: VecDeque<Arc<Page>>,
    holds: Vec<Holding>,
    next_id: HoldId,
}

/// A hold: the pages that its owner still needs.
#[derive(Debug)]
struct Holding {
    id: HoldId,
    /// Log offset of the first unit that it needs, with all following ones.
    at: u64,
    /// Upper bound on the bytes of pages held for it.
    bytes_max: usize,
    /// Media time of the unit at `at`, if the unit is lost.
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

    /// Returns the pages that the log has for all its readers, oldest first.
    pub(crate) fn kept(&self) -> &VecDeque<Arc<Page>> {
        &self.kept
    }

    /// Returns the number of kept pages.
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns the offset of the first byte of the oldest kept page.
    pub(crate) fn start(&self) -> u64 {
        self.kept.front().map_or(0, |oldest| oldest.base)
    }

    pub(crate) fn push(&mut self, page: Arc<Page>) {
        self.kept.push_back(page);
    }

    /// Returns the bytes of memory of all pages.
    pub(crate) fn weight(&self) -> usize {
        self.all().map(|page| page.weight()).sum()
    }

    /// Returns all pages, oldest first.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Arc<Page>> {
        self.held.iter().chain(&self.kept)
    }

    /// Whether the oldest kept page is not among the last ones, and holds no bytes beyond `committed`.
    pub(crate) fn may_drop(&self, committed: u64) -> bool {
        let next = self.kept.get(1);
        self.kept.len() > PAGES_MIN && next.is_some_and(|next| next.base <= committed)
    }

    /// Drops the oldest kept page, or moves it to the held ones if a hold needs it and it `may_be_held`. Returns the
    /// bytes of memory that were released.
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

    /// Marks holds that need a unit that begins in `page`, which ends at `end`, as having lost it.
    fn miss(&mut self, page: &Page, end: u64) {
        for hold in self.holds.iter_mut().filter(|hold| hold.at < end) {
            if hold.lost.is_none() {
                hold.lost = page.unit_at_or_after(hold.at).map(|unit| unit.at);
            }
        }
    }

    /// Releases held pages that are not needed, or that exceed the bounds of all holds that need them. Returns their
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

    /// Holds the bytes from `at` on, as far as they are kept, in up to `bytes_max` bytes of pages that the log would
    /// drop.
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

    /// Returns the position of a hold, and the time of the unit there if the unit is lost.
    pub(crate) fn behind(&self, id: HoldId) -> Option<(u64, Option<Timestamp>)> {
        let hold = self.holds.iter().find(|hold| hold.id == id)?;
        Some((hold.at, hold.lost))
    }

    /// Moves a hold to `at`, whose unit has the time `begins`, and releases everything before it. Returns the bytes of
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

    /// Returns the pages with the bytes of `range`; `None` if the first of them are dropped.
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

    /// Returns the index of the kept page that holds `offset`, or of the last page if `offset` is beyond it.
    fn kept_from(&self, offset: u64) -> Option<usize> {
        let later = self.kept.partition_point(|page| page.base <= offset);
        later.checked_sub(1)
    }
}
