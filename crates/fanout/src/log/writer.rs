//! The one writer of a log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use media::Timestamp;

use super::page::{Page, Unit};
use super::{Entry, Retention, Shared};
use crate::budget::Budget;
use crate::sync::{AtomicU64, Ordering};

/// The fewest pages kept, whatever the limits say: the one being written and the one before it.
const PAGES_MIN: usize = 2;

/// Appends units and drops old pages. Everything it writes becomes readable at [`commit`].
///
/// [`commit`]: Writer::commit
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    retention: Retention,
    current: Arc<Page>,
    /// Pages retained, as of the last change.
    page_count: usize,
    /// Log offset after the last byte written; at or after `committed`.
    written: u64,
    /// The unit being written.
    open: Option<OpenUnit>,
    next_ordinal: u64,
    generation: u32,
    /// Where the newest unit begins that a listener may start at.
    newest_join: u64,
}

#[derive(Debug)]
struct OpenUnit {
    /// The page it began in, whose index will hold it.
    page: Arc<Page>,
    offset: u64,
}

impl Writer {
    pub(crate) fn new(retention: Retention, budget: Arc<Budget>) -> Self {
        let page = Arc::new(Page::new(0, retention.page_bytes, retention.page_units));
        budget.take(page.weight());
        let shared = Arc::new(Shared {
            committed: AtomicU64::new(0),
            start: AtomicU64::new(0),
            pages: Mutex::new(VecDeque::from([Arc::clone(&page)])),
            budget,
        });
        Self {
            shared,
            retention,
            current: page,
            page_count: 1,
            written: 0,
            open: None,
            next_ordinal: 0,
            generation: 0,
            newest_join: 0,
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Appends to the open unit, beginning one if none is open.
    pub(crate) fn put(&mut self, mut bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.open.is_none() {
            self.begin_unit();
        }
        while !bytes.is_empty() {
            let filled = (self.written - self.current.base) as usize;
            let room = self.current.capacity() - filled;
            if room == 0 {
                self.turn_page();
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

    /// Ends the open unit; without one nothing happens, for a unit has at least one byte.
    pub(crate) fn end_unit(&mut self, at: Timestamp, arrived: Instant, entry: Entry) {
        let Some(open) = self.open.take() else { return };
        if let Entry::Join(preamble) = &entry {
            self.generation = preamble.generation;
            self.newest_join = open.offset;
        }
        open.page.add_unit(Unit {
            offset: open.offset,
            ordinal: self.next_ordinal,
            at,
            arrived,
            generation: self.generation,
            entry,
        });
        self.next_ordinal += 1;
    }

    /// Makes all ended units readable and drops what exceeds the retention. `false` when there was
    /// nothing new.
    pub(crate) fn commit(&mut self) -> bool {
        let end = self.open.as_ref().map_or(self.written, |open| open.offset);
        if end == self.shared.committed.load(Ordering::Relaxed) {
            return false;
        }
        self.shared.committed.store(end, Ordering::Release);
        if self.page_count > self.retention.pages_max {
            self.evict();
        }
        true
    }

    fn begin_unit(&mut self) {
        let full = self.written - self.current.base == self.current.capacity() as u64;
        if full || !self.current.has_unit_room() {
            self.turn_page();
        }
        self.open = Some(OpenUnit {
            page: Arc::clone(&self.current),
            offset: self.written,
        });
    }

    fn turn_page(&mut self) {
        let Retention {
            page_bytes,
            page_units,
            ..
        } = self.retention;
        let page = Arc::new(Page::new(self.written, page_bytes, page_units));
        self.shared.budget.take(page.weight());
        self.current.link(&page);
        self.shared.pages().push_back(Arc::clone(&page));
        self.page_count += 1;
        self.current = page;
        self.evict();
    }

    /// Drops pages from the old end: those beyond the page limit, those whose successor is already
    /// older than the time limit, and, when memory runs short, all but the newest. What a joiner
    /// would start at stays within the page limit, however long ago it was. Pages that hold bytes
    /// not yet committed stay, so `start` never passes `committed`.
    fn evict(&mut self) {
        let committed = self.shared.committed.load(Ordering::Relaxed);
        let mut pages = self.shared.pages();
        let newest = pages
            .iter()
            .rev()
            .find_map(|page| page.units().next_back())
            .map(|unit| unit.at);
        while pages.len() > PAGES_MIN && pages.get(1).is_some_and(|next| next.base <= committed) {
            let next_begins = pages
                .get(1)
                .and_then(|page| page.units().next())
                .map(|unit| unit.at);
            let too_old = match (newest, next_begins) {
                (Some(newest), Some(begins)) => newest - begins > self.retention.time_max,
                _ => false,
            };
            let too_many = pages.len() > self.retention.pages_max;
            let wanted = pages
                .get(1)
                .is_some_and(|next| next.base > self.newest_join);
            let too_much = !wanted && (too_old || self.shared.budget.exceeded());
            if !(too_many || too_much) {
                break;
            }
            if let Some(dropped) = pages.pop_front() {
                self.shared.budget.release(dropped.weight());
            }
        }
        self.page_count = pages.len();
        let start = pages.front().map_or(0, |oldest| oldest.base);
        drop(pages);
        self.shared.start.store(start, Ordering::Release);
    }
}
