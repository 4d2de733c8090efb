//! Wake-up times of sessions.
//!
//! Each session has at most one entry. A deadline that moves later, as consent does with every check, leaves the entry
//! unchanged: the session is woken early, finds nothing due and is entered again. A check therefore costs a look-up and not two
//! changes of the tree.

use std::collections::BTreeSet;
use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Timers {
    entries: BTreeSet<(Instant, u32)>,
    /// Time of each slot's entry.
    scheduled: Vec<Option<Instant>>,
}

impl Timers {
    /// Ensures that the slot is woken at `due` or before.
    pub(super) fn set(&mut self, slot: u32, due: Instant) {
        let at = slot as usize;
        if self.scheduled.len() <= at {
            self.scheduled.resize(at + 1, None);
        }
        match self.scheduled[at] {
            Some(before) if before <= due => return,
            Some(before) => {
                self.entries.remove(&(before, slot));
            }
            None => {}
        }
        self.entries.insert((due, slot));
        self.scheduled[at] = Some(due);
    }

    pub(super) fn clear(&mut self, slot: u32) {
        let scheduled = self.scheduled.get_mut(slot as usize);
        if let Some(before) = scheduled.and_then(Option::take) {
            self.entries.remove(&(before, slot));
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.entries.first().map(|(due, _)| *due)
    }

    /// Removes and returns a slot that is due.
    pub(super) fn pop(&mut self, now: Instant) -> Option<u32> {
        let (due, slot) = *self.entries.first()?;
        if due > now {
            return None;
        }
        self.clear(slot);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn earlier_deadlines_replace_later_ones_and_not_the_other_way() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut timers = Timers::default();
        timers.set(3, at(9));
        timers.set(1, at(5));
        timers.set(3, at(2));
        timers.set(3, at(20));
        assert_eq!(timers.next(), Some(at(2)));
        assert_eq!(timers.pop(at(1)), None);
        assert_eq!(timers.pop(at(30)), Some(3));
        assert_eq!(timers.pop(at(30)), Some(1));
        assert_eq!(timers.pop(at(30)), None);
        timers.set(7, at(1));
        timers.clear(7);
        timers.clear(99);
        assert_eq!(timers.next(), None);
    }
}
