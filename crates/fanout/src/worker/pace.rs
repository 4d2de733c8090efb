//! Schedule of a lane's subgroups.
//!
//! Subgroups are visited one at a time, evenly spread over the window. That alone would make present listeners wait
//! longer whenever subgroups are added in mid-turn, so the oldest unsent bytes also set a limit: no subgroup waits
//! longer than a window for bytes that have arrived.

use std::time::{Duration, Instant};

/// Upper bound on the visits that a lane with one subgroup may have saved up. Samples come in pairs of video and audio:
/// the second need not wait a window for the first, as long as visits on average keep to it.
const SAVED_VISITS_MAX: u32 = 3;

/// Time of a lane's next visit, and the visits it has saved up.
#[derive(Debug)]
pub(super) struct Pace {
    /// Earliest time of the next visit.
    pub(super) next_visit: Instant,
    /// Time up to which the visits so far, one interval each, account.
    paid_until: Instant,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            next_visit: now,
            paid_until: now,
        }
    }

    /// Schedules the next visit after a visit to one of `groups` subgroups, so that each is visited once per `window`
    /// and no two visits to one are closer than `min_wait`. `waiting_since` is the arrival of the oldest bytes that
    /// some subgroup has not been sent.
    pub(super) fn advance(
        &mut self,
        window: Duration,
        min_wait: Duration,
        groups: u32,
        waiting_since: Option<Instant>,
        now: Instant,
    ) {
        let interval = window / groups;
        let saved = if groups == 1 {
            interval * SAVED_VISITS_MAX
        } else {
            Duration::ZERO
        };
        // Visits that the limit made early are not owed for longer than a turn.
        self.paid_until = self.paid_until.clamp(now, now + saved + window) + interval;
        let earliest = now + min_wait.min(window) / groups;
        let paced = self.paid_until.checked_sub(saved).unwrap_or(now);
        let due = paced.max(earliest);
        // A subgroup with bytes that have waited this long since its last visit was not visited for as long.
        let limit = waiting_since.map_or(due, |since| (since + window).max(now));
        self.next_visit = due.min(limit);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::books::{Books, Plane};
    use crate::listener::ListenerId;
    use crate::policy::{Class, Policy};
    use crate::probe::{Bottomless, ProbeLane};
    use crate::worker::carousel::Carousel;
    use crate::worker::listener::Listener;

    use super::super::outlet::Outlet;
    use super::*;

    const WINDOW: Duration = Duration::from_millis(400);
    const SAMPLE: Duration = Duration::from_millis(26);
    const STEP: Duration = Duration::from_millis(1);

    /// One lane on a clock of its own: a sample arrives each [`SAMPLE`].
    struct Scene {
        lane: ProbeLane,
        carousel: Carousel,
        outlet: Outlet,
        books: Books,
        now: Instant,
        next_sample: Instant,
        /// Times at which each subgroup was visited.
        visits: Vec<Vec<Instant>>,
    }

    impl Scene {
        fn new(min_wait: Duration) -> Self {
            let policy = Policy {
                subgroup: 1,
                min_wait,
                ..Policy::default_for(Class::Audio)
            };
            let lane = ProbeLane::with(Class::Audio, policy, Arc::new([]));
            let backend = Bottomless::new().expect("a descriptor for the waker");
            let now = Instant::now();
            Self {
                carousel: Carousel::new(Arc::clone(&lane.writer.lane), now),
                lane,
                outlet: Outlet::new(Box::new(backend)),
                books: Books::new(Plane::Worker, 0),
                now,
                next_sample: now,
                visits: Vec::new(),
            }
        }

        fn join(&mut self) {
            let group = self.carousel.group_with_room();
            let index = group as u32;
            let slot = net::Slot { index, reuse: 0 };
            let (id, guard) = (ListenerId(group as u64), self.lane.guard());
            let head = bytes::Bytes::new();
            let listener = Listener::new(id, slot, head, self.now, guard, None, None);
            self.carousel.groups[group].members.push(listener);
            self.visits
                .resize_with(self.visits.len().max(group + 1), Vec::new);
        }

        fn leave(&mut self, group: usize) {
            self.carousel.groups[group].members.clear();
            self.carousel.retire(group);
        }

        fn run(&mut self, span: Duration) {
            let end = self.now + span;
            while self.now < end {
                self.now += STEP;
                if self.now >= self.next_sample {
                    self.next_sample += SAMPLE;
                    self.lane.append(b"sample", self.now);
                }
                while self.now >= self.carousel.pace.next_visit
                    && let Some(group) = self.carousel.take_due()
                {
                    let (outlet, now) = (&mut self.outlet, self.now);
                    let carousel = &mut self.carousel;
                    carousel.visit(group, outlet, &self.books, now, &mut Vec::new());
                    carousel.pace(WINDOW, now);
                    self.visits[group].push(now);
                }
            }
        }

        fn check_gap(&self, group: usize) {
            let gaps = self.visits[group].windows(2).map(|pair| pair[1] - pair[0]);
            let longest = gaps.max().expect("visits");
            assert!(longest <= GAP_MAX, "{group}: {longest:?}");
        }
    }

    /// Longest wait of a subgroup: the window, and the next sample after it.
    const GAP_MAX: Duration = Duration::from_millis(400 + 26 + 2);

    #[test]
    fn new_listeners_do_not_delay_present_ones() {
        let mut scene = Scene::new(Duration::ZERO);
        for _ in 0..5 {
            scene.join();
        }
        scene.run(2 * WINDOW);
        for _ in 0..20 {
            scene.join();
            scene.run(Duration::from_millis(30));
        }
        scene.run(4 * WINDOW);
        for group in 0..25 {
            scene.check_gap(group);
        }
    }

    #[test]
    fn neither_do_leavers_even_where_the_window_is_fixed() {
        for min_wait in [Duration::ZERO, WINDOW] {
            let mut scene = Scene::new(min_wait);
            for _ in 0..20 {
                scene.join();
            }
            scene.run(2 * WINDOW);
            for group in (5..20).rev() {
                scene.leave(group);
                scene.run(Duration::from_millis(30));
            }
            scene.run(4 * WINDOW);
            for group in 0..5 {
                scene.check_gap(group);
            }
        }
    }

    #[test]
    fn an_audience_is_spread_over_the_window_and_visited_once_in_it() {
        let mut scene = Scene::new(Duration::ZERO);
        for _ in 0..8 {
            scene.join();
        }
        scene.run(2 * WINDOW);
        scene.visits.iter_mut().for_each(Vec::clear);
        scene.run(20 * WINDOW);
        let mut all: Vec<_> = scene.visits.iter().flatten().copied().collect();
        all.sort_unstable();
        assert!((150..=161).contains(&all.len()), "{}", all.len());
        let closest = all.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert!(closest >= Some(WINDOW / 8 - 2 * STEP), "{closest:?}");
    }
}
