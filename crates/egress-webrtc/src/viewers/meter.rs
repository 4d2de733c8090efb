//! CPU cost of visits, recorded in a worker's books.

use std::time::{Duration, Instant};

use fanout::Books;

/// Interval at which the worker's demand is measured.
const DEMAND_INTERVAL: Duration = Duration::from_secs(1);

/// Weight of one call's visits against earlier ones.
const WEIGHT: f64 = 0.1;

/// Meter of the CPU time that visits cost.
#[derive(Debug)]
pub(super) struct Meter {
    /// CPU time of one visit, smoothed; zero until it is known.
    visit: Duration,
    /// CPU time of visits since `since`.
    busy: Duration,
    since: Instant,
}

impl Meter {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            visit: Duration::ZERO,
            busy: Duration::ZERO,
            since: now,
        }
    }

    /// Records that `visits` to some of the worker's `viewers` took `busy` of CPU time, and that its thread has used `cpu`
    /// since it began.
    ///
    /// Video frames do not wait for a wider window, so the current cost of visits is also the demand.
    pub(super) fn visited(
        &mut self,
        visits: u32,
        busy: Duration,
        cpu: Duration,
        viewers: u32,
        now: Instant,
        books: &Books,
    ) {
        books.visited(busy, cpu);
        if visits > 0 {
            self.learn(busy / visits);
            books.turn_costs(self.visit.saturating_mul(viewers));
        }
        self.busy += busy;
        let passed = now.saturating_duration_since(self.since);
        if passed >= DEMAND_INTERVAL {
            books.demands(self.busy.as_secs_f64() / passed.as_secs_f64());
            self.busy = Duration::ZERO;
            self.since = now;
        }
    }

    fn learn(&mut self, visit: Duration) {
        self.visit = if self.visit.is_zero() {
            visit
        } else {
            self.visit.mul_f64(1.0 - WEIGHT) + visit.mul_f64(WEIGHT)
        };
    }
}
