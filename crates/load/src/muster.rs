//! Schedule of a plan's members in this process.

use std::time::Duration;

use crate::clock::{Clock, nanoseconds};
use crate::plan::Plan;

/// Number of members begun; call [`next`](Self::next) until it returns `None`.
#[derive(Debug, Default)]
pub(crate) struct Muster {
    begun: u64,
}

impl Muster {
    /// Returns the number of a member that must begin by now, and counts it as begun.
    pub(crate) fn next(&mut self, plan: &Plan, clock: Clock) -> Option<u64> {
        if clock.until_begin() > 0 {
            return None;
        }
        let due = plan.due(Duration::from_nanos(clock.now()));
        if self.begun >= plan.own_share(due) {
            return None;
        }
        let number = plan.global(self.begun);
        self.begun += 1;
        Some(number)
    }

    /// Returns the time at which the next member is due; the end of time once all have begun.
    pub(crate) fn next_at(&self, plan: &Plan, clock: Clock) -> u64 {
        if self.is_complete(plan) {
            return u64::MAX;
        }
        let at = plan.begins(plan.global(self.begun));
        nanoseconds(at) + clock.until_begin()
    }

    /// Returns whether all members have begun; they may be gone again.
    pub(crate) fn is_complete(&self, plan: &Plan) -> bool {
        self.begun == plan.own_share(plan.members)
    }
}
