//! Viewers of one worker.
//!
//! ```text
//! Viewers ─┬─ ViewerGroup (a lane): Follower, packet positions, Vec<Viewer> ── Round
//!          ├─ GroupContext: shared by all groups: positions, scratch, counters
//!          └─ queue of groups with work, schedule of groups with later work
//! ```
//!
//! Everything belongs to one thread. A visit to a viewer takes no lock, looks nothing up and allocates nothing: it seals
//! packets from the log into the send buffer, and each send takes as many as the kernel can segment. A call of
//! [`Viewers::turn`] makes a bounded number of visits.
//!
//! A viewer that cannot be sent to keeps its position. A viewer that falls behind `skip_after` continues at the newest
//! keyframe; one that falls behind `drop_after` is disconnected. A viewer whose link loses more than random losses receives
//! audio, and a keyframe now and then, until its link can carry video again. Nothing is queued per viewer.

mod bells;
mod books;
mod context;
mod feed;
mod group;
mod line;
mod link;
mod meter;
mod pace;
mod picture;
mod place;
mod repair;
mod repetition;
mod report;
mod run;
mod start;
#[cfg(test)]
mod tests;
mod track;
mod viewer;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use base::Published;
use fanout::{Books, LaneId, ListenerHandle, Reason};
use net::Slab;
use webrtc::ice::Path;
use webrtc::mux::Handle;
use webrtc::rtcp::{Packet, packets};
use webrtc::srtp::Keys;

use self::bells::{Bells, LANES_MAX};
use self::context::GroupContext;
use self::group::{BLOCKED_MAX, BLOCKED_RETRY, ViewerGroup, Work};
use self::meter::Meter;
use self::viewer::Viewer;
use crate::agree::Agreed;
use crate::out::ViewerOutbox;
use crate::stats::Counters;

/// Visits in one call of [`Viewers::turn`]: about half a millisecond, after which the port serves its sockets.
const VISITS_PER_TURN: u32 = 128;

/// Purpose of a session, given when its viewer is expected.
#[derive(Debug)]
pub struct ViewerTicket {
    /// Tracks that the viewer receives.
    pub agreed: Agreed,
    /// Handle of the viewer in the RTP lane.
    pub handle: ListenerHandle,
}

/// Owner of all viewers of one worker thread; call [`turn`](Self::turn) whenever its bell rings or its time has come.
pub struct Viewers {
    groups: Slab<Box<ViewerGroup>>,
    by_lane: HashMap<LaneId, u32>,
    bells: Arc<Bells>,
    /// Groups with work to do, each once.
    queue: VecDeque<u32>,
    /// Times of the groups' next work; an entry counts only if the group's own time agrees.
    schedule: BinaryHeap<Reverse<(Instant, u32)>>,
    context: GroupContext,
    stats: Arc<Published<Counters>>,
    meter: Option<Meter>,
    /// Visits in the last call of [`turn`](Self::turn).
    visits: u32,
}

impl Viewers {
    /// Creates the state of a worker without viewers, which records its work in `books`. `waker` rings the worker's bell; the
    /// worker then calls [`turn`](Self::turn). `target_utilisation` is the share of a core that may be spent on audio before
    /// audio waits for video frames, or for more audio; it equals that of the fan-out's workers.
    pub fn new(waker: Waker, target_utilisation: f64, books: Arc<Books>) -> Self {
        Self {
            groups: Slab::new(),
            by_lane: HashMap::new(),
            bells: Bells::new(waker),
            queue: VecDeque::new(),
            schedule: BinaryHeap::new(),
            context: GroupContext::new(target_utilisation, books),
            stats: Arc::default(),
            meter: None,
            visits: 0,
        }
    }

    /// Declares the calling thread the worker's. Must be called before anything else.
    pub fn start(&mut self, now: Instant) {
        self.context.books.enter_thread();
        self.meter = Some(Meter::new(now));
    }

    /// Returns the worker's counters beyond its books, for other threads.
    pub fn stats(&self) -> Arc<Published<Counters>> {
        Arc::clone(&self.stats)
    }

    /// Adds a connected viewer and sends it everything that it may have at once.
    pub fn connected<O: ViewerOutbox>(
        &mut self,
        session: Handle,
        ticket: ViewerTicket,
        keys: &Keys,
        path: Path,
        now: Instant,
        out: &mut O,
    ) {
        let ViewerTicket { agreed, mut handle } = ticket;
        handle.serve_in(&self.context.books);
        let group = self.group_of(&handle, now);
        let viewer = Viewer::new(session, path, keys, &agreed, handle, now);
        let (Some(index), Some(viewer)) = (group, viewer) else {
            tracing::warn!(
                "a viewer has no place: its keys are of no use, or there are too many lanes"
            );
            out.close(session);
            return;
        };
        if let Some(group) = self.groups.at_mut(index) {
            self.context.blocked_in_a_row = 0;
            group.enter(viewer, &mut self.context, now, out);
        }
        self.enqueue(index);
        self.publish();
    }

    /// Directs a viewer's packets to another address.
    pub fn moved(&mut self, session: Handle, path: Path) {
        if let Some(viewer) = self.viewer(session) {
            viewer.go(path);
        }
    }

    /// Removes a viewer whose session has ended.
    pub fn closed(&mut self, session: Handle) {
        if let Some((index, viewer)) = self.context.position(session)
            && let Some(group) = self.groups.at_mut(index)
        {
            group.remove(viewer, Reason::Left, &mut self.context);
            if group.is_empty() {
                self.forget(index);
            }
            self.publish();
        }
    }

    /// Processes a viewer's RTCP: reports on received and lost packets, and keyframe requests.
    pub fn rtcp<O: ViewerOutbox>(
        &mut self,
        session: Handle,
        compound: &[u8],
        now: Instant,
        out: &mut O,
    ) {
        let Some((index, at)) = self.context.position(session) else {
            return;
        };
        let Some(group) = self.groups.at_mut(index) else {
            return;
        };
        let context = &mut self.context;
        for packet in packets(compound) {
            match packet {
                Packet::Nack { media, lost } => {
                    context.counters.nacks += 1;
                    group.repeat(at, media, lost, context, now, out);
                }
                Packet::PictureLoss { .. } => {
                    context.counters.keyframe_requests += 1;
                    group.lost_picture(at, now);
                }
                Packet::ReceiverReport { reports, .. } | Packet::SenderReport { reports, .. } => {
                    let middle = context.wall.ntp_middle(now);
                    if let Some(viewer) = group.viewer(at) {
                        for report in reports {
                            viewer.heard(&report, now, middle, &mut context.counters);
                        }
                    }
                }
                Packet::Bye { .. } => {}
            }
        }
    }

    /// Does what is due and returns the time of the next call. Must be called after the bell rang, when there is space to send
    /// again, and at the time that the last call returned.
    pub fn turn<O: ViewerOutbox>(&mut self, now: Instant, out: &mut O) -> Option<Instant> {
        self.take_due(now);
        let mut quota = VISITS_PER_TURN;
        self.context.blocked_in_a_row = 0;
        let mut is_blocked = false;
        for _ in 0..self.queue.len() {
            if quota == 0 || is_blocked {
                break;
            }
            let Some(index) = self.queue.pop_front() else {
                break;
            };
            let Some(group) = self.groups.at_mut(index as usize) else {
                continue;
            };
            group.is_queued = false;
            let work = group.work(&mut self.context, &mut quota, now, out);
            let is_empty = group.is_empty();
            match work {
                Work::Over => self.forget(index as usize),
                _ if is_empty => self.forget(index as usize),
                Work::Unfinished => {
                    self.enqueue(index as usize);
                    is_blocked = self.context.blocked_in_a_row >= BLOCKED_MAX;
                }
                Work::Until(due) => self.schedule(index, due),
            }
        }
        self.visits = VISITS_PER_TURN - quota;
        self.publish();
        if is_blocked {
            // The port calls as soon as there is space.
            return Some(now + BLOCKED_RETRY);
        }
        if !self.queue.is_empty() {
            return Some(now);
        }
        self.schedule.peek().map(|Reverse((due, _))| *due)
    }

    /// Records the cost of the last [`turn`](Self::turn): `busy` is its CPU time, `cpu` that of the thread since it began.
    pub fn took(&mut self, busy: Duration, cpu: Duration, now: Instant) {
        let GroupContext { viewers, books, .. } = &self.context;
        if let Some(meter) = &mut self.meter {
            meter.visited(self.visits, busy, cpu, *viewers, now, books);
        }
    }

    /// Disconnects all viewers at shutdown. The owner of the sessions sends the goodbyes.
    pub fn end(&mut self) {
        for group in self.groups.values_mut() {
            group.clear(Reason::Shutdown, &mut self.context);
        }
        self.groups = Slab::new();
        self.by_lane.clear();
        self.queue.clear();
        self.schedule.clear();
        self.publish();
    }

    /// Queues groups whose bell rang or whose time has come.
    fn take_due(&mut self, now: Instant) {
        let (groups, queue) = (&mut self.groups, &mut self.queue);
        let count = groups.places();
        self.bells.take(count, |index| {
            if let Some(group) = groups.at_mut(index)
                && !std::mem::replace(&mut group.is_queued, true)
            {
                queue.push_back(index as u32);
            }
        });
        while let Some(Reverse((due, index))) = self.schedule.peek().copied()
            && due <= now
        {
            self.schedule.pop();
            if let Some(group) = self.groups.at_mut(index as usize)
                && group.scheduled == Some(due)
            {
                group.scheduled = None;
                self.enqueue(index as usize);
            }
        }
    }

    fn enqueue(&mut self, index: usize) {
        if let Some(group) = self.groups.at_mut(index)
            && !std::mem::replace(&mut group.is_queued, true)
        {
            self.queue.push_back(index as u32);
        }
    }

    /// Schedules a group for `due` at the latest.
    fn schedule(&mut self, index: u32, due: Instant) {
        if let Some(group) = self.groups.at_mut(index as usize)
            && group.scheduled.is_none_or(|known| due < known)
        {
            group.scheduled = Some(due);
            self.schedule.push(Reverse((due, index)));
        }
    }

    /// Returns the group of a handle's lane; opens it for the lane's first viewer in this worker.
    fn group_of(&mut self, handle: &ListenerHandle, now: Instant) -> Option<usize> {
        let lane = handle.lane();
        if let Some(index) = self.by_lane.get(&lane.id()) {
            return Some(*index as usize);
        }
        if self.groups.len() >= LANES_MAX {
            return None;
        }
        let index = self.groups.vacant().index;
        let bell = self.bells.bell(index as usize);
        let group = ViewerGroup::new(index, lane, bell, now);
        self.groups.insert(Box::new(group));
        self.by_lane.insert(lane.id(), index);
        Some(index as usize)
    }

    fn forget(&mut self, index: usize) {
        if let Some(group) = self.groups.take(index) {
            self.by_lane.remove(&group.id());
            // The next group in this slot is not queued yet.
            self.queue.retain(|queued| *queued as usize != index);
        }
    }

    fn viewer(&mut self, session: Handle) -> Option<&mut Viewer> {
        let (group, viewer) = self.context.position(session)?;
        self.groups.at_mut(group)?.viewer(viewer)
    }

    fn publish(&self) {
        self.stats.publish(self.context.counters);
    }
}

base::debug!(Viewers as it { counters: it.context.counters });
