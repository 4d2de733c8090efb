//! Test of the log against an oracle that keeps everything in plain vectors.
//!
//! [`run`] interprets arbitrary bytes as a sequence of operations on a writer, three views and a hold, and
//! compares after each; the property test below and a fuzz target feed it.

use std::io::IoSlice;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use media::{Span, Timestamp};

use crate::{Account, Budget, Entry, Hold, Limits, Preamble, Unit, View, Writer};

const LIMITS: Limits = Limits {
    page_bytes: 16,
    page_units: 8,
    pages_max: 5,
    time_max: Span::from_millis(60),
    bytes_min: 0,
    bytes_time_max: Span::ZERO,
    lean_max: Span::from_millis(20),
    join_max: Span::from_millis(200),
};

/// Number of pages that memory has room for when it is short: the log's floor and one more, or less than a unit needs.
const SHORT_PAGES: usize = 3;

const VIEWS: usize = 3;

/// Expected content of the log.
struct Oracle {
    bytes: Vec<u8>,
    /// Ended units: offset, time, and whether a listener may join.
    units: Vec<(u64, Timestamp, bool)>,
    open_from: Option<u64>,
    committed: u64,
    now: Timestamp,
}

struct Model {
    writer: Writer,
    budget: Arc<Budget>,
    oracle: Oracle,
    views: Vec<View>,
    hold: Option<Held>,
    arrived: Instant,
    /// Weight of one page in the budget.
    page_weight: usize,
}

/// A hold, and its expected position.
struct Held {
    hold: Hold,
    at: u64,
    pages_max: usize,
    /// Number of its readers: its owner, and perhaps one that holds nothing.
    readers: usize,
    /// Whether nothing has been given up since the last read, so that only its own bound counts.
    is_safe: bool,
}

/// Bounds of a hold, in pages.
const HOLD_PAGES: [usize; 4] = [0, 1, 3, usize::MAX];

/// Carries out the operations encoded in `script` and checks the log after each.
///
/// # Panics
/// Panics when the log and the oracle disagree.
pub fn run(script: &[u8]) {
    // Every other script finds memory short.
    let is_short = script.first().is_some_and(|byte| byte % 2 == 1);
    let page_weight = LIMITS.floor() / 2;
    let max = if is_short {
        SHORT_PAGES * page_weight
    } else {
        usize::MAX
    };
    let budget = Arc::new(Budget::new(max));
    let account = Account::new(&budget, &Arc::default());
    let writer = Writer::new(LIMITS, account).expect("there is room for a page");
    let views = (0..VIEWS)
        .map(|_| View::new(Arc::clone(writer.shared())))
        .collect();
    let oracle = Oracle {
        bytes: Vec::new(),
        units: Vec::new(),
        open_from: None,
        committed: 0,
        now: Timestamp::ZERO,
    };
    let mut model = Model {
        page_weight,
        writer,
        budget: Arc::clone(&budget),
        oracle,
        views,
        hold: None,
        arrived: Instant::now(),
    };
    for operation in script.chunks_exact(2) {
        model.step(operation[0], usize::from(operation[1]));
    }
    drop(model);
    assert_eq!(budget.used(), 0, "every page is given back");
}

impl Model {
    fn step(&mut self, operation: u8, argument: usize) {
        match operation % 10 {
            0 | 1 => self.put(argument % 40),
            2 => {
                self.writer.shared().give_up();
                self.hold.iter_mut().for_each(|held| held.is_safe = false);
            }
            3 | 4 => self.end_unit(argument),
            5 => {
                self.writer.commit();
                self.oracle.commit();
                self.check_memory();
            }
            6 => {
                let view = argument % VIEWS;
                self.views[view].refresh();
                self.check_fresh(view);
            }
            7 => {
                let view = argument % VIEWS;
                self.views[view] = View::new(Arc::clone(self.writer.shared()));
                self.check_fresh(view);
            }
            8 => self.read_hold(),
            _ => self.renew_hold(argument),
        }
        for view in &self.views {
            self.oracle.check_bytes(view);
        }
        self.check_ranges(argument as u64);
    }

    /// Ends the hold, and begins another at the newest join point.
    fn renew_hold(&mut self, argument: usize) {
        let shared = self.writer.shared();
        let before = self.hold.take().map_or(0, |held| held.readers);
        (0..before).for_each(|_| shared.readers().leave());
        let view = View::new(Arc::clone(shared));
        let Some(join) = view.newest_join() else {
            return;
        };
        let pages_max = HOLD_PAGES[argument % HOLD_PAGES.len()];
        let bytes_max = pages_max.saturating_mul(self.page_weight);
        let hold = Hold::new(shared, join.offset, bytes_max);
        let readers = 1 + argument / HOLD_PAGES.len() % 2;
        (0..readers).for_each(|_| shared.readers().enter());
        self.hold = Some(Held {
            hold,
            at: join.offset,
            pages_max,
            readers,
            is_safe: self.budget.bound() == usize::MAX,
        });
    }

    /// Reads all that the hold has, or learns its loss and continues after that.
    fn read_hold(&mut self) {
        let Some(held) = &mut self.hold else {
            return;
        };
        let behind = held.hold.look();
        let (at, view) = (behind.at, &behind.view);
        assert_eq!(at, held.at);
        self.oracle.check_bytes(view);
        let to = if at < view.start() {
            assert!(!held.is_safe || held.pages_max != usize::MAX);
            let missed = self.oracle.units.iter().find(|unit| unit.0 == at);
            assert_eq!(
                behind.lost,
                missed.map(|unit| unit.1),
                "the first that is lost"
            );
            let left = view.units_from(view.start()).next();
            left.map_or_else(|| view.end(), |unit| unit.offset)
        } else {
            assert_eq!(behind.lost, None);
            view.end()
        };
        let next = view.unit_from(to).or_else(|| view.newest());
        held.hold
            .advance(to, next.map_or(Timestamp::ZERO, |unit| unit.at));
        held.at = to;
        held.is_safe = self.budget.bound() == usize::MAX;
    }

    /// Checks that a range is what was written, or nothing.
    fn check_ranges(&self, argument: u64) {
        let shared = self.writer.shared();
        let (start, end) = (shared.start(), shared.committed());
        let from = argument * end / 256;
        for range in [start..end, from..end, from..end / 2 + from / 2, 0..end] {
            let expected = &self.oracle.bytes[range.start as usize..range.end as usize];
            match shared.rope(range.clone()) {
                Some(rope) => assert_eq!(rope.concat(), expected, "{range:?}"),
                None => assert!(range.start < start, "{range:?} of {start}..{end}"),
            }
        }
        assert_eq!(shared.rope(start..end + 1), None);
    }

    /// Checks that the retention holds after each commit, less only the pages of a unit still open.
    fn check_memory(&self) {
        let open = (self.oracle.bytes.len() as u64 - self.oracle.committed) as usize;
        let held = self.hold.as_ref().map_or(0, |held| held.pages_max);
        let pages_max = LIMITS.pages_max + open.div_ceil(LIMITS.page_bytes);
        let pages_max = pages_max.saturating_add(held);
        let pages = self.budget.used() / self.page_weight;
        assert!(self.budget.used() <= self.budget.bound());
        assert!(
            pages <= pages_max,
            "{pages} pages, {open} bytes of them open"
        );
    }

    fn put(&mut self, count: usize) {
        let from = self.oracle.bytes.len();
        let bytes: Vec<u8> = (from..from + count)
            .map(|at| (at * 31 + at / 256) as u8)
            .collect();
        self.writer.put(&bytes);
        if self.writer.has_failed() {
            self.oracle.fail();
            return;
        }
        if count > 0 {
            self.oracle.open_from.get_or_insert(from as u64);
        }
        self.oracle.bytes.extend(bytes);
    }

    fn end_unit(&mut self, argument: usize) {
        self.oracle.now += Span::from_millis((argument % 8) as i64);
        let join = argument.is_multiple_of(3);
        let entry = match argument % 3 {
            0 => Entry::Join(Arc::new(Preamble {
                bytes: Bytes::from(format!("{}", argument / 16)),
                resume_from: 0,
                generation: (argument / 16) as u32,
                lead: None,
            })),
            1 => Entry::Sealed,
            _ => Entry::None,
        };
        self.writer.end_unit(self.oracle.now, self.arrived, entry);
        if let Some(offset) = self.oracle.open_from.take() {
            self.oracle.units.push((offset, self.oracle.now, join));
        }
    }

    /// Checks the invariants of a view that has just been refreshed.
    fn check_fresh(&self, index: usize) {
        let (view, oracle) = (&self.views[index], &self.oracle);
        assert_eq!(view.end(), oracle.committed);
        assert!(!view.is_stale());
        let known: Vec<_> = oracle.units_in(view).collect();
        let got: Vec<_> = view.units_back().map(key).collect();
        assert!(got.iter().rev().eq(&known), "{got:?} != {known:?}");
        assert_eq!(
            view.newest_join().map(key),
            known.iter().rev().find(|unit| unit.2).copied()
        );
        assert_eq!(view.newest().map(key), known.last().copied());
        for offset in view.start()..=view.end() {
            let containing = known.iter().rev().find(|unit| unit.0 <= offset).copied();
            let containing = containing.filter(|_| offset < view.end());
            assert_eq!(
                view.unit_containing(offset).map(key),
                containing,
                "at {offset}"
            );
            let from = known.iter().find(|unit| unit.0 >= offset).copied();
            assert_eq!(view.unit_from(offset).map(key), from, "from {offset}");
            assert_eq!(view.units_from(offset).next().map(key), from);
        }
        let ordinals: Vec<_> = view.units_back().map(|unit| unit.ordinal).collect();
        assert!(ordinals.windows(2).all(|pair| pair[0] == pair[1] + 1));
    }
}

impl Oracle {
    /// Drops the open unit after a failure for lack of memory; no other unit is kept.
    fn fail(&mut self) {
        if let Some(open) = self.open_from.take() {
            self.bytes.truncate(open as usize);
        }
    }

    fn commit(&mut self) {
        self.committed = self.open_from.unwrap_or(self.bytes.len() as u64);
    }

    fn units_in(&self, view: &View) -> impl Iterator<Item = (u64, Timestamp, bool)> {
        let (start, end) = (view.start(), view.end());
        self.units
            .iter()
            .copied()
            .filter(move |unit| unit.0 >= start && unit.0 < end)
    }

    /// Checks that any view, however old, reads what was written.
    fn check_bytes(&self, view: &View) {
        let (start, end) = (view.start(), view.end());
        assert!(start <= end && end <= self.committed);
        let whole = &self.bytes[start as usize..end as usize];
        let mut slices = [IoSlice::new(&[]); 2_048];
        let used = view.slices(start, end, &mut slices);
        assert_eq!(concat(&slices[..used]), whole);
        assert!(slices[..used].iter().all(|slice| !slice.is_empty()));
        let middle = start + (end - start) / 2;
        let used = view.slices(start, middle, &mut slices);
        assert_eq!(concat(&slices[..used]), whole[..(middle - start) as usize]);
        let chunk = view.chunk(middle, 7);
        assert_eq!(chunk, whole[(middle - start) as usize..][..chunk.len()]);
        assert_eq!(chunk.is_empty(), middle == end);
        let mut scratch = [0; 40];
        let len = ((end - middle) as usize).min(scratch.len());
        let piece = view.contiguous(middle, len, &mut scratch);
        assert_eq!(piece, &whole[(middle - start) as usize..][..len]);
        assert!(view.contiguous(end, 1, &mut scratch).is_empty());
    }
}

fn concat(slices: &[IoSlice<'_>]) -> Vec<u8> {
    slices
        .iter()
        .flat_map(|slice| slice.iter().copied())
        .collect()
}

fn key(unit: &Unit) -> (u64, Timestamp, bool) {
    (unit.offset, unit.at, matches!(unit.entry, Entry::Join(_)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_log_equals_its_oracle(script in proptest::collection::vec(any::<u8>(), 0..600)) {
            super::run(&script);
        }
    }

    #[test]
    fn a_unit_larger_than_the_whole_retention_is_read_whole() {
        let put = [0, 39].repeat(20);
        super::run(&[&put[..], &[3, 0, 5, 0, 6, 0, 6, 1]].concat());
    }

    #[test]
    fn what_is_held_is_not_lost() {
        // A join, a hold without a bound, more than the log keeps, and then a look.
        let write = [0, 15, 3, 1, 5, 0].repeat(40);
        super::run(&[&[0, 15, 3, 0, 5, 0, 9, 3], &write[..], &[8, 0, 8, 0]].concat());
        // As above with a bound of three pages, twice.
        super::run(
            &[
                &[0, 15, 3, 0, 5, 0, 9, 2],
                &write[..],
                &[8, 0],
                &write[..],
                &[8, 0],
            ]
            .concat(),
        );
    }

    #[test]
    fn a_unit_larger_than_the_memory_is_not_read_at_all() {
        let put = [1, 39].repeat(20);
        let rest = [3, 0, 5, 0, 6, 0, 6, 1];
        super::run(&[&[1, 5, 3, 0, 5, 0], &put[..], &rest].concat());
    }
}
