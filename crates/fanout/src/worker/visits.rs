//! Visits without a worker around them, for measuring what one costs.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use net::{Backend, Slot};

use super::carousel::Carousel;
use super::listener::Listener;
use crate::ListenerId;
use crate::lane::LaneGuard;
use crate::stats::WorkerStats;

/// One lane with a full audience.
#[derive(Debug)]
pub(crate) struct Visits {
    carousel: Carousel,
}

impl Visits {
    pub(crate) fn new(lane: &LaneGuard, listeners: usize) -> Self {
        let now = Instant::now();
        let mut carousel = Carousel::new(Arc::clone(lane.lane()), now);
        for index in 0..listeners {
            let group = carousel.group_with_room();
            let slot = Slot {
                index: index as u32,
                reuse: 0,
            };
            let id = ListenerId(index as u64);
            let listener = Listener::new(id, slot, Bytes::new(), now, lane.clone(), None);
            carousel.groups[group].members.push(listener);
        }
        Self { carousel }
    }

    /// Visits every subgroup that has something to do, once.
    pub(crate) fn turn(&mut self, backend: &mut dyn Backend, stats: &WorkerStats, now: Instant) {
        let mut leavers = Vec::new();
        for _ in 0..self.carousel.groups.len() {
            let Some(group) = self.carousel.take_due() else {
                return;
            };
            self.carousel
                .visit(group, backend, stats, now, &mut leavers);
        }
        debug_assert!(leavers.is_empty());
    }
}
