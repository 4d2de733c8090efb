//! When publishers' next pieces are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Publishers by their places, the earliest first.
#[derive(Debug, Default)]
pub(crate) struct Schedule(BinaryHeap<Reverse<(u64, usize)>>);

impl Schedule {
    /// The publisher at `place` has something to send at `at`, time of the load.
    pub(crate) fn push(&mut self, at: u64, place: usize) {
        self.0.push(Reverse((at, place)));
    }

    /// A publisher with something to send by `now`, and since when.
    pub(crate) fn pop(&mut self, now: u64) -> Option<(u64, usize)> {
        if self.next_at() > now {
            return None;
        }
        self.0.pop().map(|Reverse(due)| due)
    }

    /// When the first is due; the end of time when none is.
    pub(crate) fn next_at(&self) -> u64 {
        self.0.peek().map_or(u64::MAX, |Reverse((at, _))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_none_before_its_time() {
        let mut schedule = Schedule::default();
        assert_eq!((schedule.next_at(), schedule.pop(9)), (u64::MAX, None));
        schedule.push(20, 1);
        schedule.push(10, 2);
        assert_eq!((schedule.next_at(), schedule.pop(9)), (10, None));
        assert_eq!(schedule.pop(10), Some((10, 2)));
        assert_eq!((schedule.pop(19), schedule.pop(30)), (None, Some((20, 1))));
    }
}
