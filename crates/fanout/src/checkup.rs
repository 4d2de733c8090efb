//! Checks once a second on the listeners that tasks serve, as a worker does on its own.
//!
//! A task that waits for its client's socket cannot report that client's lag; so each reader records its position in a
//! [`Standing`], which the registry's housekeeping reads. No lock is held here that a reader takes while it reads.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::Lock;
use log::View;
use media::Span;

use crate::Fanout;
use crate::books::{CHECKUP_INTERVAL, DEGRADED_FOR};
use crate::cursor::{lag, sample_interval};
use crate::events::ConditionSender;
use crate::format::LaneId;
use crate::lane::Lane;
use crate::listener::ListenerId;
use crate::reader::MESSAGE_COST;

/// Offset of a reader that has found no join point yet.
const NOWHERE: u64 = u64::MAX;

/// A reader's position, written by it and read by the check-up.
#[derive(Debug)]
pub(crate) struct Standing {
    lane: Arc<Lane>,
    /// Log offset of the next byte it lacks, or [`NOWHERE`].
    offset: AtomicU64,
    /// Time of its last move forward, in milliseconds since the workers were started, counted from one; 0 for never.
    skipped_at: AtomicU64,
    /// Whether it has been reported as degraded. Used by the check-up alone.
    is_reported_degraded: AtomicBool,
}

impl Standing {
    pub(crate) fn new(lane: &Arc<Lane>) -> Self {
        Self {
            lane: Arc::clone(lane),
            offset: AtomicU64::new(NOWHERE),
            skipped_at: AtomicU64::new(0),
            is_reported_degraded: AtomicBool::new(false),
        }
    }

    pub(crate) fn at(&self, offset: u64) {
        self.offset.store(offset, Ordering::Relaxed);
    }

    /// Records a move forward, this long after the workers were started.
    pub(crate) fn skipped(&self, since_start: Duration) {
        let millis = since_start.as_millis() as u64 + 1;
        self.skipped_at.store(millis, Ordering::Relaxed);
    }

    fn is_degraded(&self, since_start: Duration) -> bool {
        let skipped_at = self.skipped_at.load(Ordering::Relaxed);
        let age = (since_start.as_millis() as u64 + 1).saturating_sub(skipped_at);
        skipped_at > 0 && u128::from(age) < DEGRADED_FOR.as_millis()
    }

    /// Reports a change through `sender`, and again later if there was no room for it.
    fn tell(&self, id: ListenerId, is_degraded: bool, sender: &ConditionSender) {
        let is_known = self.is_reported_degraded.load(Ordering::Relaxed) == is_degraded;
        if !is_known && sender.tell(id, is_degraded) {
            self.is_reported_degraded
                .store(is_degraded, Ordering::Relaxed);
        }
    }

    /// Returns its lag; `None` when it is further behind than the log reaches back.
    fn lag(&self, view: &View) -> Option<Span> {
        match self.offset.load(Ordering::Relaxed) {
            NOWHERE => Some(Span::ZERO),
            offset => lag(view, offset),
        }
    }
}

/// A lane that readers follow.
struct Followed {
    view: View,
    /// Share of a core that one reader of it needs at the widest window.
    demand_each: f64,
}

impl Followed {
    fn new(lane: &Lane) -> Self {
        let view = View::new(Arc::clone(&lane.log));
        let period = lane.policy.period_max(sample_interval(&view));
        Self {
            demand_each: MESSAGE_COST.as_secs_f64() / period.as_secs_f64(),
            view,
        }
    }
}

impl Fanout {
    /// Checks on the listeners that tasks serve, if a second has passed since the last time.
    pub(crate) fn check_up(&self, now: Instant) {
        if !self.checkups.is_due(now) {
            return;
        }
        let books = self.task_books();
        let since_start = now.saturating_duration_since(self.started);
        let mut lanes: HashMap<LaneId, Followed> = HashMap::new();
        let (mut degraded, mut demand) = (0, 0.0);
        for (id, control) in self.controls.readers() {
            let Some(standing) = &control.standing else {
                continue;
            };
            let lane = &standing.lane;
            let followed = lanes.entry(lane.id).or_insert_with(|| Followed::new(lane));
            let lag = standing.lag(&followed.view);
            books.sampled_lag(lag, 1);
            control.set_lag(lag);
            let is_degraded = standing.is_degraded(since_start);
            standing.tell(id, is_degraded, &self.conditions.sender);
            degraded += u64::from(is_degraded);
            demand += followed.demand_each;
        }
        books.degraded.set(degraded);
        books.demands(demand);
        // These tasks' only known cost is that of their messages.
        books.cpu_nanos.set(books.busy_nanos.value());
    }
}

/// Time of the next check.
#[derive(Debug, Default)]
pub(crate) struct Checkups(Lock<Option<Instant>>);

impl Checkups {
    /// Whether a check is due now; if so, the next one is due an interval later.
    fn is_due(&self, now: Instant) -> bool {
        let mut next = self.0.lock();
        let is_due = next.is_none_or(|next| now >= next);
        if is_due {
            *next = Some(now + CHECKUP_INTERVAL);
        }
        is_due
    }
}
