//! Wake-up times of the members, by the time of the load.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Queue of wake-up times; only a member's entry in `scheduled` counts, others are skipped.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    entries: BinaryHeap<Reverse<(u64, usize)>>,
    scheduled: Vec<Option<u64>>,
}

impl Timers {
    /// Wakes the member at `place` at `due` or before.
    pub(crate) fn set(&mut self, place: usize, due: u64) {
        if self.scheduled.len() <= place {
            self.scheduled.resize(place + 1, None);
        }
        if self.scheduled[place].is_none_or(|before| due < before) {
            self.scheduled[place] = Some(due);
            self.entries.push(Reverse((due, place)));
        }
    }

    /// Removes the timer of the member at `place`.
    pub(crate) fn clear(&mut self, place: usize) {
        if let Some(scheduled) = self.scheduled.get_mut(place) {
            *scheduled = None;
        }
    }

    /// Removes and returns a member that is due.
    pub(crate) fn pop(&mut self, now: u64) -> Option<usize> {
        while let Some(Reverse((due, place))) = self.entries.peek().copied() {
            if due > now {
                return None;
            }
            self.entries.pop();
            if self.scheduled[place] == Some(due) {
                self.scheduled[place] = None;
                return Some(place);
            }
        }
        None
    }

    /// Returns the time at which the next member is due, sometimes too early; the end of time if none is.
    pub(crate) fn next_at(&self) -> u64 {
        self.entries
            .peek()
            .map_or(u64::MAX, |Reverse((due, _))| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_entry_of_a_member_counts() {
        let mut timers = Timers::default();
        timers.set(2, 50);
        timers.set(2, 20);
        timers.set(2, 90);
        timers.set(0, 30);
        timers.set(1, 10);
        timers.clear(1);
        timers.clear(7);
        assert_eq!(timers.pop(15), None);
        assert_eq!(timers.pop(60), Some(2));
        assert_eq!(timers.pop(60), Some(0));
        assert_eq!(timers.pop(99), None);
        assert_eq!(timers.next_at(), u64::MAX);
        timers.set(2, 99);
        assert_eq!(timers.pop(99), Some(2));
    }
}
