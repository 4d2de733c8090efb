//! A reader's view of a log: the pages it may read without a lock.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use media::Timestamp;

use crate::page::{Page, Unit};
use crate::shared::Shared;
use crate::{Entry, Preamble};

/// One reader thread's knowledge of a log as of its last refresh.
///
/// Invariants: `pages` is never empty and contiguous in offsets; `end` is a value of `committed`
/// that this reader has loaded, so everything in `pages` below it may be read.
#[derive(Debug)]
pub struct View {
    shared: Arc<Shared>,
    pages: VecDeque<Arc<Page>>,
    end: u64,
    /// Offset of the newest unit that a listener may start at, if the log still has it: cached, because groups of
    /// pictures may be long and many listeners look for it.
    newest_join: Option<u64>,
}

impl View {
    /// Creates a view of all current bytes.
    #[must_use]
    pub fn new(shared: Arc<Shared>) -> Self {
        let pages = shared.pages().kept().clone();
        let mut view = Self::of(shared, pages, 0);
        view.refresh();
        view
    }

    /// Creates a view of `pages` up to `end`. If they reach back further than the log does, it is for one look: a
    /// refresh would release pages that the log has dropped.
    pub(crate) fn of(shared: Arc<Shared>, pages: VecDeque<Arc<Page>>, end: u64) -> Self {
        Self {
            shared,
            pages,
            end,
            newest_join: None,
        }
    }

    /// Loads everything committed so far, and releases pages that the log has dropped.
    #[inline]
    pub fn refresh(&mut self) {
        // `end` is loaded before the links are followed: the pages of all bytes below it are linked
        // by then, and bytes that arrive in between are left to the next refresh.
        let mut seen = self.end;
        self.end = self.shared.committed();
        while let Some(next) = self.pages.back().and_then(|page| page.next()) {
            match next {
                Some(page) => self.pages.push_back(page),
                // This reader slept through the whole retention, so it begins anew at the oldest page.
                None => {
                    self.pages = self.shared.pages().kept().clone();
                    self.end = self.shared.committed();
                    seen = 0;
                }
            }
        }
        let start = self.shared.start();
        while self
            .pages
            .get(1)
            .is_some_and(|second| second.base <= start.min(self.end))
        {
            self.pages.pop_front();
        }
        self.find_newest_join(seen);
    }

    /// Searches the units from `seen` on, which are new, for the newest join point.
    #[inline]
    fn find_newest_join(&mut self, seen: u64) {
        let new = self.units_back().take_while(|unit| unit.offset >= seen);
        let found = new
            .filter(|unit| matches!(unit.entry, Entry::Join(_)))
            .map(|unit| unit.offset)
            .next();
        let start = self.start();
        let is_there = |join: &u64| *join >= start && seen > 0;
        self.newest_join = found.or_else(|| self.newest_join.filter(is_there));
    }

    /// Returns the first offset that can still be read.
    #[must_use]
    #[inline]
    pub fn start(&self) -> u64 {
        self.pages.front().map_or(self.end, |page| page.base)
    }

    /// Returns the offset after the last byte that can be read.
    #[must_use]
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the offset of the first byte that a new listener may receive; see
    /// [`Writer::forget_joins`](crate::Writer::forget_joins).
    #[must_use]
    #[inline]
    pub fn joins_from(&self) -> u64 {
        self.shared.joins_from()
    }

    /// Whether the log has grown since the last refresh.
    #[must_use]
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.shared.committed() != self.end
    }

    /// Fills `slices` from the front with the readable bytes `from..to` and returns the number of slices used. Fewer
    /// bytes are covered when the slices do not suffice, and none when the log no longer has the first of them.
    #[must_use]
    #[inline]
    pub fn slices<'a>(&'a self, from: u64, to: u64, slices: &mut [IoSlice<'a>]) -> usize {
        if from < self.start() {
            return 0;
        }
        let to = to.min(self.end);
        let mut used = 0;
        let mut at = from;
        while used < slices.len() && at < to {
            let bytes = self.page_bytes(self.page_index(at), at);
            let wanted = bytes.len().min((to - at) as usize);
            slices[used] = IoSlice::new(&bytes[..wanted]);
            at += wanted as u64;
            used += 1;
        }
        used
    }

    /// Returns the contiguous bytes at `from`, at most `max` of them, as a handle that outlives the view. Empty at the
    /// end.
    #[must_use]
    #[inline]
    pub fn chunk(&self, from: u64, max: usize) -> Bytes {
        if from >= self.end {
            return Bytes::new();
        }
        let index = self.page_index(from);
        let available = self.page_bytes(index, from).len().min(max);
        let page = Arc::clone(&self.pages[index]);
        let to = from + available as u64;
        // SAFETY: `page_bytes` ends at `end` at the latest, a value of `committed` loaded with acquire ordering.
        #[allow(unsafe_code)]
        let bytes = unsafe { PageBytes::new(page, from, to) };
        Bytes::from_owner(bytes)
    }

    /// Returns the `len` bytes at `from` in one piece: in place, or copied to `scratch` if a page ends among them.
    /// Empty when not all of them can be read or `scratch` has no room.
    #[must_use]
    #[inline]
    pub fn contiguous<'a>(&'a self, from: u64, len: usize, scratch: &'a mut [u8]) -> &'a [u8] {
        let is_whole = from
            .checked_add(len as u64)
            .is_some_and(|to| to <= self.end);
        if from < self.start() || !is_whole || len == 0 {
            return &[];
        }
        let first = self.page_bytes(self.page_index(from), from);
        if let Some(whole) = first.get(..len) {
            return whole;
        }
        let Some(target) = scratch.get_mut(..len) else {
            return &[];
        };
        let mut filled = 0;
        while filled < len {
            let at = from + filled as u64;
            let piece = self.page_bytes(self.page_index(at), at);
            let count = piece.len().min(len - filled);
            target[filled..filled + count].copy_from_slice(&piece[..count]);
            filled += count;
        }
        target
    }

    /// Returns the unit that `offset` lies in, if its beginning is still known.
    #[must_use]
    #[inline]
    pub fn unit_containing(&self, offset: u64) -> Option<&Unit> {
        if offset >= self.end || offset < self.start() {
            return None;
        }
        let index = self.page_index(offset);
        self.pages
            .range(..=index)
            .rev()
            .find_map(|page| page.unit_at_or_before(offset))
    }

    /// Returns the time of the unit that ends at `offset`, or that `offset` lies in.
    #[must_use]
    #[inline]
    pub fn time_before(&self, offset: u64) -> Option<Timestamp> {
        let last = self.unit_containing(offset.checked_sub(1)?)?;
        Some(last.at)
    }

    /// Returns the first unit that begins at or after `offset`.
    #[must_use]
    #[inline]
    pub fn unit_from(&self, offset: u64) -> Option<&Unit> {
        let index = self.page_index(offset.max(self.start()));
        let mut later = self.pages.range(index..);
        later
            .find_map(|page| page.unit_at_or_after(offset))
            .filter(|unit| unit.offset < self.end)
    }

    /// Returns the first boundary between two units at or after `offset`. All committed bytes are whole units, so the
    /// end is a boundary, too.
    #[must_use]
    #[inline]
    pub fn boundary_from(&self, offset: u64) -> u64 {
        self.unit_from(offset)
            .map_or_else(|| self.end(), |unit| unit.offset)
    }

    /// Returns the committed units, newest first.
    #[inline]
    pub fn units_back(&self) -> impl Iterator<Item = &Unit> {
        let all = self.pages.iter().rev().flat_map(|page| page.units().rev());
        all.skip_while(|unit| unit.offset >= self.end)
    }

    /// Returns the committed units from the first that begins at or after `offset`.
    #[inline]
    pub fn units_from(&self, offset: u64) -> impl Iterator<Item = &Unit> {
        let index = self.page_index(offset.max(self.start()));
        let all = self.pages.range(index..).flat_map(|page| page.units());
        all.skip_while(move |unit| unit.offset < offset)
            .take_while(|unit| unit.offset < self.end)
    }

    /// Returns the newest unit.
    #[must_use]
    #[inline]
    pub fn newest(&self) -> Option<&Unit> {
        self.units_back().next()
    }

    /// Returns the newest unit that a listener may start at.
    #[must_use]
    #[inline]
    pub fn newest_join(&self) -> Option<&Unit> {
        self.unit_from(self.newest_join?)
    }

    /// Returns the units that a listener may start at, newest first.
    #[inline]
    pub fn joins_back(&self) -> impl Iterator<Item = (&Unit, &Arc<Preamble>)> {
        let newest = self.newest_join.map(|join| (join, self.page_index(join)));
        let pages = newest.map(|(join, index)| (join, self.pages.range(..=index)));
        let units = pages.into_iter().flat_map(|(join, pages)| {
            let units = pages.rev().flat_map(|page| page.units().rev());
            units.skip_while(move |unit| unit.offset > join)
        });
        units.filter_map(|unit| match &unit.entry {
            Entry::Join(preamble) => Some((unit, preamble)),
            Entry::None | Entry::Sealed => None,
        })
    }

    /// Returns the index in `pages` of the page that holds `offset`, or of the last page.
    #[inline]
    fn page_index(&self, offset: u64) -> usize {
        self.pages
            .partition_point(|page| page.base <= offset)
            .saturating_sub(1)
    }

    /// Returns the readable bytes of page `index` from offset `from` on.
    #[inline]
    fn page_bytes(&self, index: usize, from: u64) -> &[u8] {
        let page = &self.pages[index];
        let page_end = self
            .pages
            .get(index + 1)
            .map_or(self.end, |next| next.base.min(self.end));
        debug_assert!(page.base <= from && from <= page_end);
        // SAFETY: `page_end` is at most `end`, a value of `committed` loaded with acquire ordering.
        #[allow(unsafe_code)]
        unsafe {
            page.read(from, page_end)
        }
    }
}

/// Committed bytes of one page, which this value keeps alive.
#[derive(Debug)]
pub(crate) struct PageBytes {
    page: Arc<Page>,
    from: u64,
    to: u64,
}

impl PageBytes {
    /// Creates a handle of the bytes `from..to` of `page`.
    ///
    /// # Safety
    /// `to` must not exceed a value of `committed` that this thread has loaded with acquire ordering.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn new(page: Arc<Page>, from: u64, to: u64) -> Self {
        Self { page, from, to }
    }
}

impl AsRef<[u8]> for PageBytes {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: created from a range below a value of `committed` that the creating thread had loaded with acquire
        // ordering; every thread that received this value since is ordered after it.
        #[allow(unsafe_code)]
        unsafe {
            self.page.read(self.from, self.to)
        }
    }
}
