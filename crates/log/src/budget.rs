//! Budget for the memory of all logs.
//!
//! A page is reserved before it is allocated, so the logs never hold more than [`Budget::bound`]. When the limit is
//! reached, the stream that holds most gives up its oldest page, in the lane that holds most, even a page at which a
//! joiner would start: the writer that needs the page gets it, and memory evens out over the streams. Each lane keeps
//! its last two pages, its *floor*. When every lane is down to its floor, and to the pages of a unit still being
//! written, the headroom above the limit is used. A lane for which the headroom does not suffice either is closed by
//! its stream.
//!
//! Recorders that take samples have the memory that logs leave, each an equal [share](SpoolShare) of it.
//!
//! All of this runs on publishers' threads and at joins. The lock is taken when a lane opens, and for a page when the
//! limit is reached; no thread holds it while it waits for a stream's lock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use base::Counter;

use crate::shared::Shared;

/// Headroom above the limit: one part in this many.
const HEADROOM_PART: usize = 10;

/// Distance below the limit from which memory counts as short for a new lane: one part in this many.
const RESERVED_PART: usize = 16;

/// Part of the limit that all lanes' floors together may take when memory is short: one part in this many. Beyond it no
/// further lane of a stream opens, so every lane could keep four times its floor, two or three seconds of a usual
/// stream. A stream's first lane opens for as long as its floor fits.
const FLOORS_PART: usize = 4;

/// Memory that one lane holds, and that its stream holds in all lanes.
#[derive(Debug)]
pub struct Account {
    budget: Arc<Budget>,
    stream: Arc<AtomicUsize>,
    lane: AtomicUsize,
}

impl Account {
    /// Creates an account of a lane of the stream that holds `stream` bytes.
    #[must_use]
    pub fn new(budget: &Arc<Budget>, stream: &Arc<AtomicUsize>) -> Self {
        Self {
            budget: Arc::clone(budget),
            stream: Arc::clone(stream),
            lane: AtomicUsize::new(0),
        }
    }

    /// Creates an account without a limit.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(&Arc::new(Budget::new(usize::MAX)), &Arc::default())
    }

    /// Reserves a page; returns `false` when there is no memory for one.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        if !self.budget.make_room(bytes) {
            return false;
        }
        self.stream.fetch_add(bytes, Ordering::Relaxed);
        self.lane.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    /// Returns reserved bytes to the budget.
    pub(crate) fn release(&self, bytes: usize) {
        self.stream.fetch_sub(bytes, Ordering::Relaxed);
        self.lane.fetch_sub(bytes, Ordering::Relaxed);
        let before = self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "pages are released once");
    }

    /// Registers the log of this account, which from here on may have to give up pages above its floor.
    pub(crate) fn enter(&self, log: &Arc<Shared>, floor: usize) {
        self.budget.tenants().push(Tenant {
            log: Arc::downgrade(log),
            floor,
            is_spent: false,
        });
    }

    /// Returns the bytes that the stream holds, and the bytes that the lane holds.
    pub(crate) fn held(&self) -> (usize, usize) {
        let stream = self.stream.load(Ordering::Relaxed);
        (stream, self.lane.load(Ordering::Relaxed))
    }
}

/// Share of a spool: an equal part of the memory that logs leave.
#[derive(Debug)]
pub struct SpoolShare(Arc<Budget>);

impl SpoolShare {
    /// Creates a further share: the others become smaller.
    #[must_use]
    pub fn new(budget: &Arc<Budget>) -> Self {
        budget.spools.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(budget))
    }

    /// Returns the current size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let left = self.0.max.saturating_sub(self.0.used());
        left / self.0.spools.load(Ordering::Relaxed).max(1)
    }
}

impl Drop for SpoolShare {
    fn drop(&mut self) {
        self.0.spools.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A lane's log, as the budget knows it.
#[derive(Debug)]
struct Tenant {
    log: Weak<Shared>,
    /// Number of bytes that it always keeps.
    floor: usize,
    /// Whether it had nothing to give up at the last request.
    is_spent: bool,
}

impl Tenant {
    fn held(&self) -> (usize, usize) {
        self.log.upgrade().map_or((0, 0), |log| log.account.held())
    }
}

/// Memory of all logs: a page is reserved before it is allocated, and at the limit the stream that holds most gives up
/// its oldest page.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    max: usize,
    tenants: Mutex<Vec<Tenant>>,
    /// Number of refused lanes.
    refused: Counter,
    /// Number of bytes of samples that streams keep beside their logs, for lanes of segments that open.
    older_bytes: Arc<AtomicUsize>,
    /// Number of recorders that share the memory that logs leave.
    spools: AtomicUsize,
}

impl Budget {
    /// Creates a budget with a limit of `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            max,
            tenants: Mutex::default(),
            refused: Counter::default(),
            older_bytes: Arc::default(),
            spools: AtomicUsize::new(0),
        }
    }

    /// Returns the bytes that the backlogs of all streams hold before their newest groups of pictures; the backlogs
    /// bound them themselves.
    #[must_use]
    pub fn older_bytes(&self) -> &Arc<AtomicUsize> {
        &self.older_bytes
    }

    /// Takes `bytes`, from other logs if need be; returns `false` when there are none.
    fn make_room(&self, bytes: usize) -> bool {
        self.take(bytes, self.max) || self.reclaim(bytes) || self.take(bytes, self.bound())
    }

    /// Whether there is no memory for another lane, whose floor is `floor`; counts it if so.
    #[must_use]
    pub fn refuses(&self, floor: usize, is_first_of_stream: bool) -> bool {
        let part = if is_first_of_stream { 1 } else { FLOORS_PART };
        let is_short = self.used() > self.short_at();
        let refuses = is_short && self.floors().saturating_add(floor) > self.max / part;
        self.refused.add(u64::from(refuses));
        refuses
    }

    /// Returns the memory use as a fraction of the point at which no further lane opens, which is 1.
    #[must_use]
    pub fn level(&self) -> f64 {
        let used = self.used() as f64 / self.short_at().max(1) as f64;
        let floors: Vec<_> = self.tenants().iter().map(|tenant| tenant.floor).collect();
        let next = floors.iter().max().copied().unwrap_or(0);
        let floors = floors.into_iter().sum::<usize>() + next;
        used.min(floors as f64 / (self.max / FLOORS_PART).max(1) as f64)
    }

    /// Returns the bytes that logs hold now.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the number of refused lanes.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.value()
    }

    /// Returns the upper bound on the bytes that logs hold.
    #[must_use]
    pub const fn bound(&self) -> usize {
        self.max.saturating_add(self.max / HEADROOM_PART)
    }

    const fn short_at(&self) -> usize {
        self.max - self.max / RESERVED_PART
    }

    fn take(&self, bytes: usize, max: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= max);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        taken.is_ok()
    }

    /// Makes the fullest logs give up pages until there is room for `bytes`, then takes it. Fails when every lane has
    /// reported that it has nothing left.
    fn reclaim(&self, bytes: usize) -> bool {
        let mut tenants = self.tenants();
        for tenant in tenants.iter_mut() {
            tenant.is_spent = false;
        }
        loop {
            if self.take(bytes, self.max) {
                return true;
            }
            let able = tenants.iter_mut().filter(|tenant| !tenant.is_spent);
            let Some(fullest) = able.max_by_key(|tenant| tenant.held()) else {
                return false;
            };
            let log = fullest.log.upgrade();
            fullest.is_spent = !log.is_some_and(|log| log.give_up());
        }
    }

    fn floors(&self) -> usize {
        self.tenants().iter().map(|tenant| tenant.floor).sum()
    }

    /// Locks the list of open lanes.
    fn tenants(&self) -> MutexGuard<'_, Vec<Tenant>> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.retain(|tenant| tenant.log.strong_count() > 0);
        tenants
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Instant;

    use media::{Span, Timestamp};

    use super::*;
    use crate::{Entry, Limits, Preamble, Writer};

    const LIMITS: Limits = Limits {
        page_bytes: 1_000,
        page_units: 8,
        pages_max: 1_000,
        time_max: Span::from_millis(1_000_000),
        bytes_min: 0,
        bytes_time_max: Span::ZERO,
        lean_max: Span::from_millis(1_000_000),
        join_max: Span::from_millis(1_000_000),
    };

    /// Weight of a page that is not the first of its log: the first is smaller.
    const PAGE: usize = LIMITS.floor() / 2;

    /// Creates a budget of this many pages, with a tenth for headroom.
    fn budget(pages: usize) -> Arc<Budget> {
        Arc::new(Budget::new(pages * PAGE))
    }

    fn log(budget: &Arc<Budget>, stream: &Arc<AtomicUsize>) -> Writer {
        Writer::new(LIMITS, Account::new(budget, stream)).expect("there is room")
    }

    /// Writes units of a page each, the first of which may be joined.
    fn fill(writer: &mut Writer, units: usize) {
        for unit in 0..units {
            writer.put(&[7; 1_000]);
            let entry = match unit {
                0 => Entry::Join(Arc::new(Preamble::default())),
                _ => Entry::None,
            };
            writer.end_unit(Timestamp::ZERO, Instant::now(), entry);
            writer.commit();
        }
    }

    #[test]
    fn the_stream_that_holds_most_gives_up_first_even_what_a_joiner_would_start_at() {
        let budget = budget(40);
        let [greedy, modest] = [Arc::default(), Arc::default()];
        let mut first = log(&budget, &greedy);
        let mut second = log(&budget, &greedy);
        fill(&mut first, 29);
        fill(&mut second, 10);
        assert!(!first.has_lost_join() && !second.has_lost_join());
        fill(&mut second, 100);
        let used = 39 * PAGE + 1..=40 * PAGE;
        assert!(
            used.contains(&budget.used()),
            "the limit is used and not exceeded"
        );
        let mut other = log(&budget, &modest);
        fill(&mut other, 15);
        let held = |stream: &AtomicUsize| stream.load(Ordering::Relaxed) / PAGE;
        assert_eq!((held(&greedy), held(&modest)), (24, 15));
        assert!(
            !other.has_lost_join(),
            "the stream that holds less keeps all"
        );
        assert!(first.has_lost_join(), "nothing is exempt");
        drop((first, second, other));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_unit_too_large_for_the_memory_closes_its_log_and_no_other() {
        let budget = budget(20);
        let [large, small] = [Arc::default(), Arc::default()];
        let mut neighbour = log(&budget, &small);
        fill(&mut neighbour, 5);
        let mut writer = log(&budget, &large);
        fill(&mut writer, 1);
        writer.put(&vec![7; 30_000]);
        assert!(writer.has_failed());
        assert!(budget.used() <= budget.bound());
        assert!(!neighbour.has_failed());
        writer.commit();
        assert_eq!(writer.shared().committed(), 1_000, "what was whole stays");
        drop(writer);
        fill(&mut neighbour, 30);
        assert!(!neighbour.has_failed());
    }

    #[test]
    fn a_first_lane_is_let_in_where_a_further_one_is_not() {
        let budget = budget(40);
        let greedy = Arc::default();
        let floor = LIMITS.floor();
        let mut lanes: Vec<_> = (0..5).map(|_| log(&budget, &greedy)).collect();
        assert!(!budget.refuses(floor, false), "there is memory");
        fill(&mut lanes[0], 100);
        assert!(budget.level() >= 1.0 && budget.refuses(floor, false));
        assert!(!budget.refuses(floor, true));
        lanes.extend((0..15).map(|_| log(&budget, &greedy)));
        assert!(budget.refuses(floor, true), "not even floors have room");
        assert_eq!(budget.refused(), 2);
    }
}
