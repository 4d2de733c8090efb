//! One page of a log: its bytes, and the index of the units that begin in it.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use media::Timestamp;

use crate::Entry;
use crate::cells::Cells;
use crate::entries::Entries;

/// One entry of the index: the smallest run of bytes that makes sense alone.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Log offset of its first byte.
    pub offset: u64,
    /// Number of units before it in this log.
    pub ordinal: u64,
    /// Its media time.
    pub at: Timestamp,
    /// Arrival time of the sample it came from.
    pub arrived: Instant,
    /// Generation of codec headers it belongs to.
    pub generation: u32,
    /// Number of its epoch.
    pub epoch: u32,
    /// Rules for listeners that start or leave here.
    pub entry: Entry,
}

/// One page of a log; the crate's description has the rules of access.
#[derive(Debug)]
pub(crate) struct Page {
    /// Log offset of its first byte.
    pub(crate) base: u64,
    bytes: Cells,
    units: Entries<Unit>,
    /// The page after this one. Weak, so that a reader that stays behind keeps one page alive and not all following
    /// ones.
    next: OnceLock<Weak<Self>>,
}

impl Page {
    pub(crate) fn new(base: u64, bytes: usize, units: usize) -> Self {
        Self {
            base,
            bytes: Cells::new(bytes),
            units: Entries::new(units),
            next: OnceLock::new(),
        }
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes of memory it takes, index included.
    pub(crate) fn weight(&self) -> usize {
        Self::weight_of(self.bytes.len(), self.units.capacity())
    }

    /// Returns the bytes of memory that a page of that size takes.
    pub(crate) const fn weight_of(bytes: usize, units: usize) -> usize {
        bytes + units * size_of::<Unit>()
    }

    /// Whether another unit may begin here.
    #[inline]
    pub(crate) fn has_unit_room(&self) -> bool {
        self.units.has_room()
    }

    /// Copies `data` to `at`, which lies beyond the committed bytes.
    ///
    /// # Safety
    /// Only the log's one writer may call this, and only for bytes it has not committed.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) unsafe fn write(&self, at: usize, data: &[u8]) {
        // SAFETY: readers touch committed bytes only, and there is one writer.
        unsafe { self.bytes.write(at, data) };
    }

    /// Returns the bytes at log offsets `from..to`.
    ///
    /// # Safety
    /// `to` must not exceed a value of `committed` that this thread loaded with acquire ordering.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) unsafe fn read(&self, from: u64, to: u64) -> &[u8] {
        let range = (from - self.base) as usize..(to - self.base) as usize;
        // SAFETY: committed bytes were written before the release store of `committed` that the
        // caller's acquire load has seen, and are never written again.
        unsafe { self.bytes.read(range) }
    }

    /// Adds a unit. The writer checked for room when the unit began.
    ///
    /// # Safety
    /// Only the log's one writer may call this.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) unsafe fn add_unit(&self, unit: Unit) {
        // SAFETY: there is one writer.
        unsafe { self.units.push(unit) };
    }

    /// Returns the units that begin in this page, committed or not.
    #[inline]
    pub(crate) fn units(&self) -> std::slice::Iter<'_, Unit> {
        self.units.as_slice().iter()
    }

    /// Returns the last unit that begins here at or before `offset`.
    #[inline]
    pub(crate) fn unit_at_or_before(&self, offset: u64) -> Option<&Unit> {
        let units = self.units.as_slice();
        let index = units.partition_point(|unit| unit.offset <= offset);
        units[..index].last()
    }

    /// Returns the first unit that begins here at or after `offset`.
    #[inline]
    pub(crate) fn unit_at_or_after(&self, offset: u64) -> Option<&Unit> {
        let units = self.units.as_slice();
        units.get(units.partition_point(|unit| unit.offset < offset))
    }

    pub(crate) fn link(&self, next: &Arc<Self>) {
        let fresh = self.next.set(Arc::downgrade(next)).is_ok();
        debug_assert!(fresh, "a page has one successor");
    }

    /// Returns the next page: `None` while there is none, `Some(None)` when it has been dropped already.
    #[inline]
    pub(crate) fn next(&self) -> Option<Option<Arc<Self>>> {
        self.next.get().map(Weak::upgrade)
    }
}
