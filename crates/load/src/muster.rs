//! Which of a plan's members this process has begun, and when the next one is due.

use std::time::Duration;

use crate::clock::{Clock, nanoseconds};
use crate::plan::Plan;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Muster<'a> {
    plan: &'a Plan,
    clock: Clock,
    begun: u64,
}

impl<'a> Muster<'a> {
    pub(crate) fn new(plan: &'a Plan, clock: Clock) -> Self {
        Self {
            plan,
            clock,
            begun: 0,
        }
    }

    /// The number of a member that is to begin by `now`, which counts as begun from here on.
    pub(crate) fn next(&mut self, now: u64) -> Option<u64> {
        if self.clock.until_begin() > 0 {
            return None;
        }
        let due = self.plan.ramp().due(Duration::from_nanos(now));
        if self.begun >= self.plan.own_share(due) {
            return None;
        }
        let number = self.plan.global(self.begun);
        self.begun += 1;
        Some(number)
    }

    /// When the next member is due; the end of time when all have begun.
    pub(crate) fn next_at(&self) -> u64 {
        if self.is_complete() {
            return u64::MAX;
        }
        let at = self.plan.ramp().at(self.plan.global(self.begun));
        nanoseconds(at) + self.clock.until_begin()
    }

    /// Whether all have begun; they may be gone again.
    pub(crate) fn is_complete(&self) -> bool {
        self.begun == self.plan.own_share(self.plan.members)
    }
}
