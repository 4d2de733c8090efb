//! Wake-ups for tasks that wait for news, at most one per wait.
//!
//! The law of a worker's bell holds for tasks woken through a waker too: *arm*, then look once more. Unlike a worker's
//! bell, any thread may ring these, and any number may wait.
//!
//! There are two kinds of locks: one over the list of slots, for entering, leaving and ringing; and one for each slot
//! over its own waker. Arming takes the slot's lock only, so a thread that serves listeners by itself waits for no
//! join.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::task::{Poll, Waker as TaskWaker};

use base::Lock;

/// Wakers of tasks that wait for news: asynchronous readers of a lane, players of a stream to come.
#[derive(Debug, Default)]
pub(crate) struct TaskBells {
    /// Number of armed wakers; lets a writer that has no waiters skip the lock.
    armed: AtomicUsize,
    slots: Lock<Vec<Arc<TaskSlot>>>,
}

/// A task's slot, from [`TaskBells::enter`] to [`TaskBells::leave`].
#[derive(Debug, Default)]
pub(crate) struct TaskSlot {
    /// Index of the slot in the list, changed under the list's lock.
    index: AtomicUsize,
    waker: Lock<Option<TaskWaker>>,
}

impl TaskBells {
    pub(crate) fn enter(&self) -> Arc<TaskSlot> {
        let mut slots = self.slots.lock();
        let slot = Arc::new(TaskSlot {
            index: AtomicUsize::new(slots.len()),
            waker: Lock::default(),
        });
        slots.push(Arc::clone(&slot));
        slot
    }

    pub(crate) fn leave(&self, slot: &TaskSlot) {
        let mut slots = self.slots.lock();
        let index = slot.index.load(Ordering::Relaxed);
        slots.swap_remove(index);
        if let Some(moved) = slots.get(index) {
            moved.index.store(index, Ordering::Relaxed);
        }
        self.disarm(slot);
    }

    /// Arms a wake-up for the next ring. The caller must look for news once more afterwards.
    pub(crate) fn arm(&self, slot: &TaskSlot, waker: &TaskWaker) {
        let mut place = slot.waker.lock();
        if place.replace(waker.clone()).is_none() {
            // Counted under the lock, so that a ring in between cannot take a waker that is not counted.
            self.armed.fetch_add(1, Ordering::Relaxed);
        }
        drop(place);
        fence(Ordering::SeqCst);
    }

    /// Waits until `look` finds something. It is called after each ring, and to begin with.
    pub(crate) async fn wait_for<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        let place = WaitSlot {
            bells: self,
            slot: self.enter(),
        };
        std::future::poll_fn(|cx| {
            // No ring is missed from here on, so the look comes afterwards.
            self.arm(&place.slot, cx.waker());
            look().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    #[inline]
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.armed.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    /// Wakes all armed tasks. Kept out of [`ring`](Self::ring), which a writer calls at each commit and which mostly
    /// finds nothing to do.
    #[inline(never)]
    fn wake(&self) {
        for slot in self.slots.lock().iter() {
            if let Some(waker) = self.disarm(slot) {
                waker.wake();
            }
        }
    }

    fn disarm(&self, slot: &TaskSlot) -> Option<TaskWaker> {
        let mut place = slot.waker.lock();
        let waker = place.take();
        if waker.is_some() {
            self.armed.fetch_sub(1, Ordering::Relaxed);
        }
        waker
    }
}

/// A task's slot that leaves the bells when dropped.
struct WaitSlot<'a> {
    bells: &'a TaskBells,
    slot: Arc<TaskSlot>,
}

impl Drop for WaitSlot<'_> {
    fn drop(&mut self) {
        self.bells.leave(&self.slot);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::testing::Alarm;

    #[test]
    fn each_is_woken_once_for_each_time_it_armed_and_never_after_it_left() {
        let bells = TaskBells::default();
        let all = [(); 5].map(|()| (bells.enter(), Alarm::with_waker()));
        let wakes = || -> Vec<_> {
            let each = all.iter();
            each.map(|(_, (alarm, _))| alarm.count()).collect()
        };
        let arm = |who: &[usize]| {
            for (slot, (_, waker)) in who.iter().map(|index| &all[*index]) {
                bells.arm(slot, waker);
                bells.arm(slot, waker);
            }
        };
        arm(&[0, 2, 4]);
        bells.ring();
        bells.ring();
        assert_eq!(wakes(), [1, 0, 1, 0, 1]);
        arm(&[0, 1, 4]);
        for gone in [1, 0] {
            bells.leave(&all[gone].0);
        }
        bells.ring();
        assert_eq!(wakes(), [1, 0, 1, 0, 2], "the last has moved into a gap");
        for gone in [4, 2, 3] {
            bells.leave(&all[gone].0);
        }
        assert!(bells.slots.lock().is_empty());
        assert_eq!(bells.armed.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn arming_does_not_wait_for_entering_or_leaving() {
        let bells = Arc::<TaskBells>::default();
        let slot = bells.enter();
        let joining = bells.slots.lock();
        let (tell, reported) = mpsc::sync_channel(1);
        let thread = std::thread::spawn({
            let bells = Arc::clone(&bells);
            move || {
                bells.arm(&slot, TaskWaker::noop());
                tell.send(()).ok();
            }
        });
        assert_eq!(reported.recv_timeout(Duration::from_secs(60)), Ok(()));
        drop(joining);
        thread.join().expect("no panic");
    }
}
