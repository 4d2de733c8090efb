//! Choice of a worker for each new listener.
//!
//! A worker's load is its *demand*: the share of its core that visits take while every window is as wide as its policy
//! lets it grow. The time that a worker is busy is no measure, because the windows hold it at the target whatever the
//! audience; demand grows with each listener, and with the cost of sending to it.
//!
//! Visits measure demand, so it includes new listeners late. Until then they count as average listeners; otherwise all
//! that come between two measurements would go to the same worker.
//!
//! Joins call it, and may wait for each other here. Workers never call it.

use std::time::{Duration, Instant};

use base::Lock;

use crate::lane::Lane;

/// Number of a lane's listeners from which they spread over workers; below it, each extra worker would cost a wake-up
/// per message.
const SPREAD_FROM: usize = 64;

/// Demand of a home from which it takes no more listeners of small streams while another worker has clearly less: a
/// wake-up costs less than a late message.
const HOME_DEMAND_MAX: f64 = 0.7;

/// Largest ratio of two demands at which the smaller one is clearly less.
const CLEARLY_LESS: f64 = 0.8;

/// Lower bound on the demand of one listener: a send of 2.5 µs, the cheapest there is, every 400 ms. A stream whose
/// publisher is away costs nothing now, but will later.
const LISTENER_DEMAND_MIN: f64 = 2.5e-6 / 0.4;

/// Time after which a listener is measured: more than twice the default windows.
const MEASURED_AFTER: Duration = Duration::from_secs(1);

/// A worker's load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    /// Measured demand, as the share of a core; see the module's description.
    pub(crate) demand: f64,
    /// Listeners that it has, or is about to have.
    pub(crate) listeners: u64,
}

/// Chooses a worker for each new listener.
#[derive(Debug)]
pub(crate) struct Placement(Lock<RecentJoins>);

/// Listeners per worker that may not be measured yet.
#[derive(Debug)]
struct RecentJoins {
    /// Listeners per worker that joined in the current interval, and in the previous one.
    counts: Vec<[u32; 2]>,
    interval_began: Instant,
}

impl Placement {
    pub(crate) fn new(workers: usize, now: Instant) -> Self {
        Self(Lock::new(RecentJoins {
            counts: vec![[0; 2]; workers],
            interval_began: now,
        }))
    }

    /// Chooses the worker for one more listener of `lane`, which is already counted there: the lane's home while the
    /// lane is small, else the least loaded worker. A lane without a home gets the least loaded one.
    pub(crate) fn choose(&self, lane: &Lane, load: impl Fn(usize) -> Load, now: Instant) -> usize {
        let mut recent = self.0.lock();
        recent.advance(now);
        let workers = recent.counts.len();
        let total = (0..workers)
            .map(&load)
            .fold(Load::default(), |sum, one| Load {
                demand: sum.demand + one.demand,
                listeners: sum.listeners + one.listeners,
            });
        let average = total.demand / total.listeners.max(1) as f64;
        let average = average.max(LISTENER_DEMAND_MIN);
        let score = |index: usize| {
            let Load { demand, listeners } = load(index);
            demand.max(listeners as f64 * LISTENER_DEMAND_MIN)
                + f64::from(recent.on(index)) * average
        };
        let least = (0..workers)
            .min_by(|a, b| score(*a).total_cmp(&score(*b)))
            .unwrap_or(0);
        let stays = |home: usize| {
            let demand = score(home);
            demand < HOME_DEMAND_MAX || score(least) > demand * CLEARLY_LESS
        };
        let chosen = match lane.home() {
            _ if lane.audience() >= SPREAD_FROM => least,
            Some(home) if stays(home) => home,
            _ => {
                lane.settle(least);
                least
            }
        };
        recent.counts[chosen][0] += 1;
        chosen
    }
}

impl RecentJoins {
    fn advance(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.interval_began);
        if elapsed < MEASURED_AFTER {
            return;
        }
        let is_next = elapsed < MEASURED_AFTER * 2;
        for counts in &mut self.counts {
            *counts = [0, if is_next { counts[0] } else { 0 }];
        }
        self.interval_began = now;
    }

    fn on(&self, worker: usize) -> u32 {
        self.counts[worker].iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use super::*;
    use crate::lane::LaneGuard;
    use crate::policy::Class;
    use crate::probe::ProbeLane;

    fn quiet_lane() -> LaneGuard {
        ProbeLane::open(Class::Audio, Arc::new([])).guard()
    }

    /// Workers whose measurements are fixed until they are set again.
    struct Measured {
        placement: Placement,
        measured: RefCell<Vec<Load>>,
        present: RefCell<Vec<u64>>,
        now: Instant,
    }

    impl Measured {
        fn new(demands: &[f64]) -> Self {
            let now = Instant::now();
            let load = |demand: &f64| Load {
                demand: *demand,
                listeners: 0,
            };
            Self {
                placement: Placement::new(demands.len(), now),
                measured: RefCell::new(demands.iter().map(load).collect()),
                present: RefCell::new(vec![0; demands.len()]),
                now,
            }
        }

        fn join(&self, lane: &LaneGuard) -> usize {
            let load = |index: usize| Load {
                listeners: self.present.borrow()[index],
                ..self.measured.borrow()[index]
            };
            let chosen = self.placement.choose(lane.lane(), load, self.now);
            self.present.borrow_mut()[chosen] += 1;
            chosen
        }
    }

    fn audience(lane: &LaneGuard, count: usize) -> Vec<LaneGuard> {
        (0..count).map(|_| lane.clone()).collect()
    }

    #[test]
    fn a_small_stream_has_one_home() {
        let setup = Measured::new(&[0.0; 4]);
        let lane = quiet_lane();
        let homes: Vec<_> = (0..30).map(|_| setup.join(&lane)).collect();
        assert!(homes.iter().all(|home| *home == homes[0]), "{homes:?}");
    }

    #[test]
    fn homes_are_spread_and_avoid_busy_workers() {
        let setup = Measured::new(&[0.0, 0.3, 0.0]);
        *setup.present.borrow_mut() = vec![0, 30_000, 0];
        let mut homes = [0; 3];
        for _ in 0..40 {
            homes[setup.join(&quiet_lane())] += 1;
        }
        assert_eq!(homes, [20, 0, 20]);
    }

    #[test]
    fn a_full_home_is_left() {
        let setup = Measured::new(&[0.0, 0.1]);
        *setup.present.borrow_mut() = vec![10_000; 2];
        let lane = quiet_lane();
        assert_eq!(setup.join(&lane), 0);
        setup.measured.borrow_mut()[0].demand = HOME_DEMAND_MAX + 0.1;
        assert_eq!(setup.join(&lane), 1);
        setup.measured.borrow_mut()[0].demand = 0.0;
        assert_eq!(setup.join(&lane), 1, "it stays where it went");
        setup.measured.borrow_mut()[0].demand = 0.9;
        setup.measured.borrow_mut()[1].demand = 0.95;
        assert_eq!(setup.join(&lane), 1, "elsewhere it would be no better");
    }

    #[test]
    fn a_crowd_between_two_measurements_is_spread() {
        let setup = Measured::new(&[0.010, 0.011]);
        *setup.present.borrow_mut() = vec![1_000, 1_000];
        let lane = quiet_lane();
        let _crowd = audience(&lane, SPREAD_FROM);
        for _ in 0..5_000 {
            setup.join(&lane);
        }
        let present = setup.present.borrow();
        assert!(present[0].abs_diff(present[1]) < 200, "{present:?}");
    }

    #[test]
    fn dear_listeners_weigh_more_than_cheap_ones() {
        // A thousand that cost ten times what each of three thousand others does.
        let mut setup = Measured::new(&[0.1, 0.03]);
        *setup.present.borrow_mut() = vec![1_000, 3_000];
        let lane = quiet_lane();
        let _crowd = audience(&lane, SPREAD_FROM);
        assert!((0..500).all(|_| setup.join(&lane) == 1));
        // Measured by now, they are not counted twice.
        setup.measured.borrow_mut()[1].demand = 0.035;
        setup.now += MEASURED_AFTER * 2;
        assert!((0..500).all(|_| setup.join(&lane) == 1));
    }

    #[test]
    fn listeners_without_a_publisher_count_all_the_same() {
        let setup = Measured::new(&[0.0, 0.0]);
        *setup.present.borrow_mut() = vec![10_000, 0];
        let lane = quiet_lane();
        let _crowd = audience(&lane, SPREAD_FROM);
        assert!((0..1_000).all(|_| setup.join(&lane) == 1));
    }
}
