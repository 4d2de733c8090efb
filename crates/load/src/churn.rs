//! Selection of the listeners that leave and are replaced by new ones.

use crate::args::Listening;
use crate::plan::Plan;

/// Number of listeners examined to find one that may leave.
const TRIES: usize = 16;

/// Rate and random choice of the listeners that leave; act on [`due`](Self::due) with [`choose`](Self::choose).
#[derive(Debug)]
pub(crate) struct Churn {
    /// Leaves per second of all processes together, and the number of processes.
    rate: f64,
    processes: f64,
    /// Time of the load at which listeners begin to leave.
    since: u64,
    random: u64,
}

impl Churn {
    pub(crate) fn new(plan: &Plan, listening: &Listening) -> Self {
        Self {
            rate: listening.churn.unwrap_or(0.0),
            processes: plan.processes as f64,
            since: plan.timeline().ramp_end,
            random: plan.begin_at | 1,
        }
    }

    /// Returns whether no listener ever leaves.
    pub(crate) fn is_none(&self) -> bool {
        self.rate == 0.0
    }

    /// Returns the number of listeners of this process that should have left by `now`.
    pub(crate) fn due(&self, now: u64) -> u64 {
        let seconds = now.saturating_sub(self.since) as f64 / 1e9;
        (seconds * self.rate / self.processes) as u64
    }

    /// Returns the place of one of `count` listeners that may leave, if one is found quickly.
    pub(crate) fn choose(
        &mut self,
        count: usize,
        mut may_leave: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        (0..TRIES)
            .map(|_| self.draw() as usize % count.max(1))
            .find(|place| may_leave(*place))
    }

    /// Draws the next random number (xorshift64): the choice need not be secret.
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
