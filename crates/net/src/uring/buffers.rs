//! Memory that the kernel receives into: a ring of buffers shared by many sockets.
//!
//! A buffer is either lent or called in. The kernel takes a lent one when there are bytes for it, and names
//! it in the completion; from then on it is ours until it is lent again. So no memory is reserved for a
//! socket that brings nothing.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

use super::ring::Ring;

/// Bytes in a buffer: as much as a publisher of 300 kb/s brings in 100 ms. More bytes take several buffers.
pub(super) const BUFFER_BYTES: usize = 4 * 1024;

/// Most buffers: 4 MiB, as much as the sockets of a thread bring at once. They are lent as sockets are added,
/// and memory that has never been lent is not taken from the system.
pub(super) const BUFFERS_MAX: u16 = 1_024;

/// Buffers lent from the beginning: as many as a single socket can fill at once.
pub(super) const BUFFERS_MIN: u16 = 64;

/// Alignment that the kernel requires of the ring.
const PAGE: usize = 4_096;

/// Ring of receive buffers; [`lend`](Self::lend) each buffer again after its bytes were used.
pub(super) struct Buffers {
    /// `BUFFERS_MAX` entries; the kernel reads them, this side writes them.
    ring: NonNull<BufRingEntry>,
    /// `BUFFERS_MAX` buffers, one after another.
    memory: NonNull<u8>,
    /// Number of times a buffer has been lent, modulo 2^16.
    tail: u16,
    /// Buffers below this number have been lent at least once.
    known: u16,
    /// Whether the kernel may no longer write to the buffers.
    is_called_in: bool,
}

impl Buffers {
    /// Group id by which operations name the buffers.
    pub(super) const GROUP: u16 = 0;

    /// Allocates the buffers and lends the first ones to `ring`.
    pub(super) fn new(ring: &Ring) -> io::Result<Self> {
        let mut buffers = Self {
            ring: allocate(ring_layout()).cast(),
            memory: allocate(memory_layout()),
            tail: 0,
            known: 0,
            is_called_in: true,
        };
        ring.lend(&buffers)?;
        buffers.is_called_in = false;
        buffers.have(BUFFERS_MIN);
        Ok(buffers)
    }

    /// Returns the address of the ring, and its number of entries.
    pub(super) fn ring(&self) -> (u64, u16) {
        (self.ring.as_ptr() as u64, BUFFERS_MAX)
    }

    /// Lends more buffers until there are `count` in all, or [`BUFFERS_MAX`].
    pub(super) fn have(&mut self, count: u16) {
        while self.known < count.min(BUFFERS_MAX) {
            self.known += 1;
            self.lend(self.known - 1);
        }
    }

    /// Returns the first `len` bytes of a buffer that the kernel has filled.
    pub(super) fn bytes(&self, number: u16, len: usize) -> &[u8] {
        assert!(number < self.known && len <= BUFFER_BYTES);
        // SAFETY: the buffer lies within the memory, as the assertion checks.
        let start = unsafe { self.memory.add(usize::from(number) * BUFFER_BYTES) };
        // SAFETY: the memory was zeroed when it was made, so all of it is initialised. The kernel does
        // not write to a buffer that it has handed out until it is lent again, which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), len) }
    }

    /// Lends a buffer, again or for the first time.
    pub(super) fn lend(&mut self, number: u16) {
        assert!(number < self.known);
        let place = usize::from(self.tail % BUFFERS_MAX);
        // SAFETY: the ring has `BUFFERS_MAX` entries.
        let mut entry = unsafe { self.ring.add(place) };
        // SAFETY: the buffer lies within the memory, as the assertion checks.
        let start = unsafe { self.memory.add(usize::from(number) * BUFFER_BYTES) };
        // SAFETY: entries are zeroed memory, which is a valid one. The kernel does not read this one before
        // the tail covers it: of at most as many buffers as there are entries, this one is not lent, so fewer
        // entries are in use.
        let entry = unsafe { entry.as_mut() };
        entry.set_addr(start.as_ptr() as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: it is the ring's first entry, whose last field is the tail.
        let tail = unsafe { BufRingEntry::tail(self.ring.as_ptr()) };
        // SAFETY: aligned like any `u16` of the entry; the kernel only reads it, and this is the only place
        // that writes it.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// Makes the kernel forget the buffers.
    pub(super) fn call_in(&mut self, ring: &Ring) {
        if !self.is_called_in {
            self.is_called_in = ring.call_in().is_ok();
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !self.is_called_in {
            // The kernel may still write there.
            tracing::warn!("memory that was lent to the kernel is left to it");
            return;
        }
        // SAFETY: it was allocated with this layout, and no other code has it.
        unsafe { dealloc(self.ring.as_ptr().cast(), ring_layout()) };
        // SAFETY: as above.
        unsafe { dealloc(self.memory.as_ptr(), memory_layout()) };
    }
}

fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: the layout is not of size zero.
    let memory = unsafe { alloc_zeroed(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

fn ring_layout() -> Layout {
    layout(usize::from(BUFFERS_MAX) * size_of::<BufRingEntry>())
}

fn memory_layout() -> Layout {
    layout(usize::from(BUFFERS_MAX) * BUFFER_BYTES)
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, PAGE).expect("a page is a power of two, and the sizes are small")
}
