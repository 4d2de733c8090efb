//! Which member is to be woken when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Each member has one entry that counts, the one in `scheduled`; others are skipped.
#[derive(Debug, Default)]
pub(super) struct Timers {
    entries: BinaryHeap<Reverse<(Instant, usize)>>,
    scheduled: Vec<Option<Instant>>,
}

impl Timers {
    /// Wakes the member at `place` at `due` or before.
    pub(super) fn set(&mut self, place: usize, due: Instant) {
        if self.scheduled.len() <= place {
            self.scheduled.resize(place + 1, None);
        }
        if self.scheduled[place].is_none_or(|before| due < before) {
            self.scheduled[place] = Some(due);
            self.entries.push(Reverse((due, place)));
        }
    }

    /// The member at `place` is gone.
    pub(super) fn clear(&mut self, place: usize) {
        if let Some(scheduled) = self.scheduled.get_mut(place) {
            *scheduled = None;
        }
    }

    /// Removes and returns a member that is due.
    pub(super) fn pop(&mut self, now: Instant) -> Option<usize> {
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

    /// When the next one is due; sometimes too early.
    pub(super) fn next(&self) -> Option<Instant> {
        self.entries.peek().map(|Reverse((due, _))| *due)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_earliest_entry_of_a_member_counts() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut timers = Timers::default();
        timers.set(2, at(50));
        timers.set(2, at(20));
        timers.set(2, at(90));
        timers.set(0, at(30));
        timers.set(1, at(10));
        timers.clear(1);
        timers.clear(7);
        assert_eq!(timers.pop(at(15)), None);
        assert_eq!(timers.pop(at(60)), Some(2));
        assert_eq!(timers.pop(at(60)), Some(0));
        assert_eq!(timers.pop(at(99)), None);
        assert_eq!(timers.next(), None);
        timers.set(2, at(99));
        assert_eq!(timers.pop(at(99)), Some(2));
    }
}
