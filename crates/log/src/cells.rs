//! Bytes that one thread writes while others read those already published.
//!
//! This module and `entries` hold the crate's raw-memory code; all other unsafe code only calls them. The surface of
//! this one is [`Cells::write`] and [`Cells::read`].

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Range;

/// A fixed run of bytes with interior mutability.
pub(crate) struct Cells {
    bytes: Box<[UnsafeCell<MaybeUninit<u8>>]>,
    /// Record for loom of the accesses to each byte; the bytes themselves lie in `bytes` either way.
    #[cfg(loom)]
    touched: Box<[loom::cell::UnsafeCell<()>]>,
}

// SAFETY: the bytes are plain data, and `write` and `read` forbid their callers a race.
#[allow(unsafe_code)]
unsafe impl Sync for Cells {}
// SAFETY: nothing in `Cells` belongs to a thread.
#[allow(unsafe_code)]
unsafe impl Send for Cells {}

impl Cells {
    /// Creates `len` bytes that nobody has written yet. Zeroing them would cost as much as writing them.
    pub(crate) fn new(len: usize) -> Self {
        let bytes = Box::new_uninit_slice(len);
        Self {
            // SAFETY: each of them may be uninitialised.
            #[allow(unsafe_code)]
            bytes: unsafe { bytes.assume_init() },
            #[cfg(loom)]
            touched: (0..len).map(|_| loom::cell::UnsafeCell::new(())).collect(),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Copies `data` to `at`.
    ///
    /// # Safety
    /// No other thread may write, or have been allowed to read, any byte of that range.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) unsafe fn write(&self, at: usize, data: &[u8]) {
        let target = &self.bytes[at..at + data.len()];
        #[cfg(loom)]
        for cell in &self.touched[at..at + data.len()] {
            cell.with_mut(|_| ());
        }
        let start = UnsafeCell::raw_get(target.as_ptr()).cast::<u8>();
        // SAFETY: `target` spans `data.len()` cells, each of which is one byte wide because both
        // wrappers are transparent; the caller excludes every other access to them.
        unsafe { start.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
    }

    /// Returns the bytes of `range`.
    ///
    /// # Safety
    /// Every byte of the range must have been written, and published to this thread, before; none
    /// may be written again while the slice lives.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) unsafe fn read(&self, range: Range<usize>) -> &[u8] {
        let source = &self.bytes[range.start..range.end];
        #[cfg(loom)]
        for cell in &self.touched[range] {
            cell.with(|_| ());
        }
        // SAFETY: `source` spans that many one-byte cells, and the caller vouches that they have
        // been written and that nothing writes to them any more.
        unsafe { std::slice::from_raw_parts(source.as_ptr().cast::<u8>(), source.len()) }
    }
}

base::debug!(Cells as it { len: it.len() });
