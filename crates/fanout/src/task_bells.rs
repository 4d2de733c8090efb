//! Wakes tasks that wait for news, at most once per wait.
//!
//! The same law as a worker's bell, for whoever is woken through a waker: *arm*, then look once
//! more. Unlike that one it may be rung by anybody and waited for by any number.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker as TaskWaker;

/// Wakes tasks that wait for news: the asynchronous readers of a lane, players of a stream to come.
#[derive(Debug, Default)]
pub(crate) struct TaskBells {
    /// How many wakers are armed; lets a writer for whom nobody waits pass by without the lock.
    armed: AtomicUsize,
    slots: Mutex<TaskSlots>,
}

/// One waker per task, by the slot the task was given.
#[derive(Debug, Default)]
struct TaskSlots {
    wakers: Vec<Option<TaskWaker>>,
    free: Vec<usize>,
}

impl TaskBells {
    fn slots(&self) -> MutexGuard<'_, TaskSlots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self) -> usize {
        let mut slots = self.slots();
        slots.free.pop().unwrap_or_else(|| {
            slots.wakers.push(None);
            slots.wakers.len() - 1
        })
    }

    pub(crate) fn leave(&self, slot: usize) {
        let mut slots = self.slots();
        if slots.wakers[slot].take().is_some() {
            self.armed.fetch_sub(1, Ordering::Relaxed);
        }
        slots.free.push(slot);
    }

    /// Asks for a wake-up at the next ring. The caller must look for news once more afterwards.
    pub(crate) fn arm(&self, slot: usize, waker: &TaskWaker) {
        let mut slots = self.slots();
        if slots.wakers[slot].replace(waker.clone()).is_none() {
            // Counted under the lock, so that a ring in between cannot take what is not counted.
            self.armed.fetch_add(1, Ordering::Relaxed);
        }
        drop(slots);
        fence(Ordering::SeqCst);
    }

    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.armed.load(Ordering::Relaxed) == 0 {
            return;
        }
        for waker in self.slots().wakers.iter_mut().filter_map(Option::take) {
            self.armed.fetch_sub(1, Ordering::Relaxed);
            waker.wake();
        }
    }
}

/// A task's place among those that wait, for as long as it waits.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    bells: &'a TaskBells,
    slot: usize,
}

impl<'a> Place<'a> {
    pub(crate) fn new(bells: &'a TaskBells) -> Self {
        let slot = bells.enter();
        Self { bells, slot }
    }

    /// See [`TaskBells::arm`].
    pub(crate) fn arm(&self, waker: &TaskWaker) {
        self.bells.arm(self.slot, waker);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.bells.leave(self.slot);
    }
}
