//! One lane of a worker: its subgroups, visited in turn.
//!
//! The lane's window is divided by the number of subgroups, and at each of these moments the next subgroup is visited:
//! every listener gets one send per window, and the sends of a large audience are spread over it.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::View;
use media::Span;
use net::UsualCost;

use super::batch::{BATCH, Batch};
use super::listener::Listener;
use super::outlet::Outlet;
use super::pace::Pace;
use crate::books::{Books, LATE_AFTER};
use crate::cursor::Reason;
use crate::lane::Lane;

/// Upper bound on sends in a row to one listener that drains as fast as we write, before others get their turn.
const SENDS_IN_A_ROW_MAX: usize = 4;

/// Listeners visited together.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) members: Vec<Listener>,
    /// The log's end at the last visit: the offset of a member that keeps up.
    pub(super) seen: u64,
    /// Ordinal of the unit that begins at `seen`.
    seen_ordinal: u64,
    /// Whether some member has bytes to take and room for them, although it was just visited.
    pub(super) unfinished: bool,
    cost: UsualCost,
}

/// A worker's subgroups of one lane, and the pace at which it visits them.
#[derive(Debug)]
pub(super) struct Carousel {
    pub(super) lane: Arc<Lane>,
    pub(super) view: View,
    pub(super) groups: Vec<Group>,
    next_group: usize,
    pub(super) pace: Pace,
    /// Whether the lane is in the worker's schedule.
    pub(super) queued: bool,
    /// Window chosen at the last visit.
    pub(super) window: Duration,
    /// Share of a core that visits to the lane take when the window is as wide as it may become.
    pub(super) demand: f64,
    /// Time at which the lane was found to have ended.
    pub(super) ended_at: Option<Instant>,
}

/// Position in its group of a listener that a visit found gone, and the reason.
pub(super) type Leaver = (usize, Reason);

impl Carousel {
    pub(super) fn new(lane: Arc<Lane>, now: Instant) -> Self {
        let view = View::new(Arc::clone(&lane.log));
        Self {
            window: lane.policy.max_wait,
            demand: 0.0,
            lane,
            view,
            groups: Vec::new(),
            next_group: 0,
            pace: Pace::new(now),
            queued: false,
            ended_at: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.members.is_empty())
    }

    /// Returns the index of a subgroup with room; one that has members already, if there is one.
    pub(super) fn group_with_room(&mut self) -> usize {
        let max = self.lane.policy.subgroup.max(1);
        let occupied = |group: &Group| !group.members.is_empty() && group.members.len() < max;
        if let Some(index) = self.groups.iter().position(occupied) {
            return index;
        }
        let empty = self
            .groups
            .iter()
            .position(|group| group.members.is_empty());
        let index = empty.unwrap_or_else(|| {
            self.groups.push(Group::default());
            self.groups.len() - 1
        });
        // An empty subgroup was not visited; its mark may be older than the log.
        self.view.refresh();
        self.groups[index].mark_seen(&self.view);
        index
    }

    /// Clears the cost of a subgroup that has lost its last member, and returns the old cost.
    pub(super) fn retire(&mut self, index: usize) -> Duration {
        let cost = match self.groups.get_mut(index) {
            Some(group) if group.members.is_empty() => std::mem::take(&mut group.cost).get(),
            _ => Duration::ZERO,
        };
        while self
            .groups
            .last()
            .is_some_and(|group| group.members.is_empty())
        {
            self.groups.pop();
        }
        cost
    }

    /// Takes the subgroup with something to do that has waited longest for a visit.
    pub(super) fn take_due(&mut self) -> Option<usize> {
        self.view.refresh();
        let due = self.find_due()?;
        self.next_group = due + 1;
        Some(due)
    }

    /// Whether some subgroup has something to do, as of the last refresh.
    pub(super) fn is_due(&self) -> bool {
        self.find_due().is_some()
    }

    fn find_due(&self) -> Option<usize> {
        let (end, count) = (self.view.end(), self.groups.len());
        (0..count)
            .map(|step| (self.next_group + step) % count)
            .filter(|&index| {
                let group = &self.groups[index];
                (group.seen != end || group.unfinished) && !group.members.is_empty()
            })
            // Among those that have seen the same, the first in carousel order.
            .min_by_key(|&index| self.groups[index].seen)
    }

    /// Schedules the next subgroup's turn after a visit.
    pub(super) fn pace(&mut self, window: Duration, now: Instant) {
        self.window = window;
        let occupied = self.groups.iter().filter(|group| !group.members.is_empty());
        let groups = occupied.count().max(1) as u32;
        let waiting_since = self.find_due().and_then(|oldest| {
            let unseen = self.view.unit_from(self.groups[oldest].seen)?;
            Some(unseen.arrived)
        });
        let min_wait = self.lane.policy.min_wait;
        self.pace
            .advance(window, min_wait, groups, waiting_since, now);
    }

    /// Sends the members of a subgroup everything that the log gained since its last visit. One send is enough for
    /// most; a message of more pages than a send has slices takes several, and a member that takes them all must not
    /// count as behind because of that.
    pub(super) fn visit(
        &mut self,
        index: usize,
        outlet: &mut Outlet,
        books: &Books,
        now: Instant,
        leavers: &mut Vec<Leaver>,
    ) {
        let count = self.groups[index].members.len();
        for _ in 0..SENDS_IN_A_ROW_MAX {
            self.groups[index].unfinished = false;
            let mut from = 0;
            while from < count {
                let to = count.min(from + BATCH);
                self.carry(index, from..to, outlet, books, now, leavers);
                from = to;
            }
            if !self.groups[index].unfinished {
                break;
            }
        }
        self.groups[index].mark_seen(&self.view);
    }

    /// Sends to one member until it is up to date or full.
    pub(super) fn flush(
        &mut self,
        group: usize,
        member: usize,
        outlet: &mut Outlet,
        books: &Books,
        now: Instant,
        leavers: &mut Vec<Leaver>,
    ) {
        for _ in 0..SENDS_IN_A_ROW_MAX {
            self.carry(group, member..member + 1, outlet, books, now, leavers);
            let listener = &self.groups[group].members[member];
            if listener.blocked || listener.is_settled(self.view.end()) || !leavers.is_empty() {
                break;
            }
        }
    }

    /// Sends one batch, to members `range` of a subgroup: at most [`BATCH`] of them.
    fn carry(
        &mut self,
        index: usize,
        range: Range<usize>,
        outlet: &mut Outlet,
        books: &Books,
        now: Instant,
        leavers: &mut Vec<Leaver>,
    ) {
        let (lane, view) = (&self.lane, &self.view);
        let group = &mut self.groups[index];
        let (seen, first) = (group.seen, range.start);
        let members = &mut group.members[range];
        let mut batch = Batch::plan(members, lane, view, seen, books, now);
        batch.send(view, seen, outlet, books);
        let in_step = batch.account(lane, seen, &outlet.sealing, books, now);
        let is_last = lane.ended() && !view.is_stale();
        group.unfinished |= batch.settle(first, view.end(), is_last, leavers);
        group.observe(view, in_step, self.window + LATE_AFTER, books, now);
    }

    /// Records the CPU time of a visit to a subgroup. Returns the subgroup's previous cost, and the new one.
    pub(super) fn learn_cost(&mut self, index: usize, measured: Duration) -> (Duration, Duration) {
        let cost = &mut self.groups[index].cost;
        let before = cost.get();
        cost.learn(measured);
        (before, cost.get())
    }

    /// Returns the CPU time of a full turn over this lane.
    pub(super) fn cost(&self) -> Duration {
        self.groups.iter().map(|group| group.cost.get()).sum()
    }

    /// Measures the lane's demand anew. Returns the old value and the new one: the share of a core that its visits take
    /// when the window is as wide as it may become.
    pub(super) fn learn_demand(&mut self, sample_interval: Span) -> (f64, f64) {
        let period = self.lane.policy.period_max(sample_interval);
        let demand = self.cost().as_secs_f64() / period.as_secs_f64();
        (std::mem::replace(&mut self.demand, demand), demand)
    }
}

impl Group {
    fn mark_seen(&mut self, view: &View) {
        self.seen = view.end();
        self.seen_ordinal = view.newest().map_or(0, |unit| unit.ordinal + 1);
    }

    /// Records a batch in which `in_step` members got everything since the last visit.
    fn observe(
        &self,
        view: &View,
        in_step: u64,
        late_after: Duration,
        books: &Books,
        now: Instant,
    ) {
        if in_step == 0 {
            return;
        }
        let Some(newest) = view.newest() else { return };
        let samples = (newest.ordinal + 1).saturating_sub(self.seen_ordinal);
        if samples == 0 {
            return;
        }
        books.message_samples.observe(samples as f64, in_step);
        if let Some(oldest) = view.unit_from(self.seen) {
            let delay = now.saturating_duration_since(oldest.arrived);
            books.forwarded(delay, late_after, in_step);
        }
    }
}
