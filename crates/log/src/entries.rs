//! Index of a page: entries that one thread appends while others read those already appended.
//!
//! Memory is taken for all of them, and none is written before it is needed: most pages have few.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A list of fixed capacity that only grows.
pub(crate) struct Entries<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// Number of slots that are set, from the front. Set slots are never written again.
    count: AtomicUsize,
}

// SAFETY: a slot is written once, by the one writer, before the count that includes it is published; readers go by the
// count, and share the entries.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Sync for Entries<T> {}

impl<T> Entries<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        let slots = Box::new_uninit_slice(capacity);
        Self {
            // SAFETY: a slot may be uninitialised.
            #[allow(unsafe_code)]
            slots: unsafe { slots.assume_init() },
            count: AtomicUsize::new(0),
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Whether another entry fits.
    pub(crate) fn has_room(&self) -> bool {
        self.count.load(Ordering::Relaxed) < self.slots.len()
    }

    /// Appends an entry; the caller has checked that there is room.
    ///
    /// # Safety
    /// Only one thread at a time may call this.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn push(&self, entry: T) {
        let count = self.count.load(Ordering::Relaxed);
        let slot = self.slots[count].get();
        // SAFETY: no reader looks at a slot beyond the count, and there is no other writer.
        unsafe { (*slot).write(entry) };
        self.count.store(count + 1, Ordering::Release);
    }

    /// Returns the appended entries.
    pub(crate) fn as_slice(&self) -> &[T] {
        let set = &self.slots[..self.count.load(Ordering::Acquire)];
        // SAFETY: these slots were written before the count was published, and are never written again; a slot is as
        // wide as its content, since both wrappers are transparent.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(set.as_ptr().cast::<T>(), set.len())
        }
    }
}

impl<T> Drop for Entries<T> {
    fn drop(&mut self) {
        let count = *self.count.get_mut();
        for slot in &mut self.slots[..count] {
            // SAFETY: the slot is set, and nobody looks at it any more.
            #[allow(unsafe_code)]
            unsafe {
                slot.get_mut().assume_init_drop();
            }
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Entries<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_was_appended_is_seen_by_others_and_dropped_once() {
        let one = Arc::new(7);
        let entries = Arc::new(Entries::new(3));
        let reader = Arc::clone(&entries);
        assert!(entries.as_slice().is_empty() && entries.has_room());
        let reading = std::thread::spawn(move || {
            while reader.as_slice().len() < 2 {
                std::thread::yield_now();
            }
            reader
                .as_slice()
                .iter()
                .all(|entry: &Arc<i32>| **entry == 7)
        });
        for _ in 0..2 {
            // SAFETY: this is the only thread that appends.
            #[allow(unsafe_code)]
            unsafe {
                entries.push(Arc::clone(&one));
            }
        }
        assert!(reading.join().expect("read"));
        assert!(entries.has_room() && entries.capacity() == 3);
        assert_eq!(Arc::strong_count(&one), 3);
        drop(entries);
        assert_eq!(Arc::strong_count(&one), 1);
    }
}
