//! The one writer of a log.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use media::Timestamp;

use crate::budget::Account;
use crate::page::{Page, Unit};
use crate::shared::Shared;
use crate::sync::Ordering;
use crate::{Entry, Limits};

/// Appends units and drops old pages. Everything it writes becomes readable at [`commit`].
///
/// If memory for a page runs out, the writer [fails](Writer::has_failed): a log with a hole is of no use to its
/// readers, so nothing more is written, and readers keep all whole units.
///
/// [`commit`]: Writer::commit
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    limits: Limits,
    current: Arc<Page>,
    /// Number of pages kept, as of the last change.
    page_count: usize,
    /// Log offset after the last byte written; at or after `committed`.
    written: u64,
    /// Log offset of the unit that is being written.
    open: Option<u64>,
    /// Page in which the open unit begins and whose index will hold it, if that is no longer the current page.
    open_page: Option<Arc<Page>>,
    next_ordinal: u64,
    generation: u32,
    /// Number of the epoch of units that end now.
    epoch: u32,
    /// Media time of the newest unit.
    newest: Option<Timestamp>,
    /// Offset and time of the newest unit that a listener may start at.
    newest_join: Option<(u64, Timestamp)>,
    /// Whether that unit has ended since the last commit.
    is_join_new: bool,
    has_failed: bool,
}

impl Writer {
    /// Creates a log whose pages are counted to `account`; returns `None` when there is no memory for the first page.
    #[must_use]
    pub fn new(limits: Limits, account: Account) -> Option<Self> {
        // It is not known yet whether anything other than a hold will read it.
        let first = limits.lean();
        if !account.reserve(first.page_weight()) {
            return None;
        }
        let page = Arc::new(Page::new(0, first.page_bytes, first.page_units));
        let shared = Arc::new(Shared::new(Arc::clone(&page), account));
        shared.account.enter(&shared, limits.floor());
        Some(Self {
            shared,
            limits,
            current: page,
            page_count: 1,
            written: 0,
            open: None,
            open_page: None,
            next_ordinal: 0,
            generation: 0,
            epoch: 0,
            newest: None,
            newest_join: None,
            is_join_new: false,
            has_failed: false,
        })
    }

    /// Returns the log, for its readers.
    #[must_use]
    #[inline]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Appends to the open unit, beginning one if none is open.
    #[inline]
    pub fn put(&mut self, mut bytes: &[u8]) {
        if bytes.is_empty() || self.has_failed {
            return;
        }
        if self.open.is_none() && !self.begin_unit() {
            return;
        }
        while !bytes.is_empty() {
            let filled = (self.written - self.current.base) as usize;
            let room = self.current.capacity() - filled;
            if room == 0 {
                if !self.turn_page() {
                    return;
                }
                continue;
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            // SAFETY: this is the log's only writer, and `written` is never below `committed`.
            #[allow(unsafe_code)]
            unsafe {
                self.current.write(filled, now);
            }
            self.written += now.len() as u64;
            bytes = later;
        }
    }

    /// Ends the open unit; without an open unit nothing happens, for a unit has at least one byte.
    #[inline]
    pub fn end_unit(&mut self, at: Timestamp, arrived: Instant, entry: Entry) {
        let Some(offset) = self.open.take() else {
            return;
        };
        if let Entry::Join(preamble) = &entry {
            self.generation = preamble.generation;
            self.newest_join = Some((offset, at));
            self.is_join_new = true;
        }
        self.newest = Some(at);
        let page = self.open_page.as_ref().unwrap_or(&self.current);
        let unit = Unit {
            offset,
            ordinal: self.next_ordinal,
            at,
            arrived,
            generation: self.generation,
            epoch: self.epoch,
            entry,
        };
        // SAFETY: this is the log's only writer.
        #[allow(unsafe_code)]
        unsafe {
            page.add_unit(unit);
        }
        self.open_page = None;
        self.next_ordinal += 1;
    }

    /// Returns the range of the open unit's bytes.
    #[must_use]
    #[inline]
    pub fn open_range(&self) -> Option<Range<u64>> {
        self.open.map(|offset| offset..self.written)
    }

    /// Returns the number of the epoch of units that end now.
    #[must_use]
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Sets the epoch of units that end from now on.
    #[inline]
    pub fn set_epoch(&mut self, epoch: u32) {
        self.epoch = epoch;
    }

    /// Excludes all bytes written so far for new listeners; current readers continue.
    pub fn forget_joins(&mut self) {
        self.shared
            .joins_from
            .store(self.written, Ordering::Release);
    }

    /// Makes all ended units readable and drops pages beyond the retention. Returns `false` when there was nothing new.
    #[inline]
    pub fn commit(&mut self) -> bool {
        let end = self.open.unwrap_or(self.written);
        if end == self.shared.committed.load(Ordering::Relaxed) {
            return false;
        }
        self.shared.committed.store(end, Ordering::Release);
        // A log that only holds read keeps little more than its newest join point.
        let is_join_new = std::mem::take(&mut self.is_join_new);
        if self.page_count > self.limits.pages_max || is_join_new && self.shared.is_only_held() {
            self.evict();
        }
        true
    }

    /// Whether memory for a page ran out: nothing written from then on is kept.
    #[must_use]
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether the newest unit that a listener may start at was dropped.
    #[must_use]
    #[inline]
    pub fn has_lost_join(&self) -> bool {
        let start = self.shared.start.load(Ordering::Relaxed);
        self.newest_join.is_some_and(|(offset, _)| offset < start)
    }

    #[inline]
    fn begin_unit(&mut self) -> bool {
        let full = self.written - self.current.base == self.current.capacity() as u64;
        if (full || !self.current.has_unit_room()) && !self.turn_page() {
            return false;
        }
        self.open = Some(self.written);
        true
    }

    fn turn_page(&mut self) -> bool {
        let limits = self.limits_now();
        if !self.shared.account.reserve(limits.page_weight()) {
            self.has_failed = true;
            if let Some(offset) = self.open.take() {
                self.written = offset;
                self.open_page = None;
            }
            return false;
        }
        let page = Page::new(self.written, limits.page_bytes, limits.page_units);
        let page = Arc::new(page);
        self.current.link(&page);
        self.shared.pages().push(Arc::clone(&page));
        self.page_count += 1;
        let full = std::mem::replace(&mut self.current, page);
        if self.open.is_some() {
            self.open_page.get_or_insert(full);
        }
        self.evict();
        true
    }

    /// Returns the limits for its current readers.
    fn limits_now(&self) -> Limits {
        match self.shared.is_only_held() {
            true => self.limits.lean(),
            false => self.limits,
        }
    }

    /// Drops pages beyond the page limit, and pages followed by units that are themselves older than the time limit,
    /// and by enough bytes. The newest join point stays within its own time limit, for as long as there is memory.
    fn evict(&mut self) {
        let limits = self.limits_now();
        let (newest, written) = (self.newest, self.written);
        let age = |at: Timestamp| newest.map(|newest| newest - at);
        let kept_join = self
            .newest_join
            .filter(|(_, at)| age(*at).is_some_and(|age| age <= limits.join_max));
        self.page_count = self.shared.evict(|pages| {
            let Some(next) = pages.kept().get(1) else {
                return false;
            };
            // A unit may be larger than a page: no unit begins in the pages of its middle.
            let mut later = pages.kept().iter().skip(1);
            let next_unit = later.find_map(|page| page.units().next());
            let next_begins = next_unit.map(|unit| unit.at);
            let next_age = next_begins.and_then(age);
            let is_old = next_age.is_some_and(|age| age > limits.time_max);
            let is_wanted = kept_join.is_some_and(|(offset, _)| next.base > offset);
            let is_little = written - next.base < limits.bytes_min as u64
                && next_age.is_some_and(|age| age <= limits.bytes_time_max);
            pages.len() > limits.pages_max || is_old && !is_wanted && !is_little
        });
    }
}
