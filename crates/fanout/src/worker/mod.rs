//! Workers: they own listeners' sockets, each on an operating-system thread of its own.
//!
//! A worker sleeps until a lane has news and its window has passed, a socket has an event, or its inbox has a command.
//! It then visits subgroups, one after the other, each for a few milliseconds at the most. Nothing here takes a lock
//! that a publisher, a join or the operator's port holds.
//!
//! [`Worker::step`] is one turn of that loop as a function of the time, of the back-end's events and of other threads'
//! messages. It reads no clock and never waits: [`Worker::run`] does both for it, and so does the simulator of the
//! tests.
//!
//! [`carousel`] is one lane of a worker, [`listener`] one listener, and [`batch`] one set of sends; [`membership`] adds
//! and removes listeners, [`hearing`] handles their sockets' events, and [`outlet`] sends and seals their bytes. The
//! rest of the program uses [`Handle`].

mod batch;
mod carousel;
mod handle;
mod hearing;
mod listener;
mod membership;
mod outlet;
mod pace;
mod position;
mod survey;
#[cfg(any(test, feature = "testing"))]
mod visits;
mod waker;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use net::{Backend, Event, Slab};

pub(crate) use handle::{Attach, Command, Handle};
#[cfg(any(test, feature = "testing"))]
pub(crate) use visits::{Joins, Visits};
pub(crate) use waker::WorkerWaker;

use self::carousel::{Carousel, Leaver};
use self::listener::Listener;
use self::outlet::Outlet;
use self::position::Position;
use crate::books::{Books, CHECKUP_INTERVAL};
use crate::cursor::sample_interval;
use crate::events::ConditionSender;
use crate::format::LaneId;
use crate::listener::Departure;

/// Upper bound on commands that wait for a worker; further joins are refused. At a turn of 2 ms this is two million
/// joins a second.
pub(crate) const INBOX_MAX: usize = 4_096;

/// Commands carried out between two looks at the schedule.
const COMMANDS_PER_ROUND: usize = 64;

/// CPU time for which visits continue before sockets and commands are looked at again.
const ROUND_MAX: Duration = Duration::from_millis(2);

/// Lower bound on the time that a visit counts towards [`ROUND_MAX`]: no visit is cheaper, and a round ends whatever
/// the clock shows.
const VISIT_COST_MIN: Duration = Duration::from_micros(1);

/// Time of a worker's next step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(unreachable_pub, reason = "only tests that step a worker see it")]
pub enum NextStep {
    /// Step at this time, or sooner if it is woken or a socket has an event.
    At(Instant),
    /// Step when it is woken or a socket has an event: nothing is due.
    Woken,
    /// No more steps: the worker was stopped, and has closed every listener.
    Stopped,
}

/// A worker's connections to the rest of the program.
pub(crate) struct Links {
    pub(crate) inbox: Receiver<Command>,
    pub(crate) waker: WorkerWaker,
    pub(crate) books: Arc<Books>,
    pub(crate) departures: SyncSender<Departure>,
    pub(crate) conditions: ConditionSender,
}

/// Everything that one fan-out thread owns; call [`step`](Self::step) until it returns `Stopped`, or
/// [`run`](Self::run).
pub(crate) struct Worker {
    index: usize,
    target_utilisation: f64,
    outlet: Outlet,
    links: Links,
    /// Departures that found the channel full.
    unsent_departures: Vec<Departure>,
    lanes: Slab<Carousel>,
    lane_index: HashMap<LaneId, u32>,
    /// Positions of listeners, by the slots of their sockets.
    positions: Slab<Position>,
    /// Lanes with news, by the time of their next visit.
    schedule: BinaryHeap<Reverse<(Instant, u32)>>,
    /// CPU time of a full turn over all lanes.
    turn_cost: Duration,
    /// Sum of the lanes' demands, as a share of a core.
    demand: f64,
    next_checkup: Instant,
    /// Scratch, empty between uses.
    leavers: Vec<Leaver>,
    /// Whether the server is about to leave: new listeners get the announcement too.
    is_leaving: bool,
}

impl Worker {
    pub(crate) fn new(
        index: usize,
        target_utilisation: f64,
        backend: Box<dyn Backend>,
        links: Links,
        now: Instant,
    ) -> Self {
        Self {
            index,
            target_utilisation,
            outlet: Outlet::new(backend),
            links,
            unsent_departures: Vec::new(),
            lanes: Slab::new(),
            lane_index: HashMap::new(),
            positions: Slab::new(),
            schedule: BinaryHeap::new(),
            turn_cost: Duration::ZERO,
            demand: 0.0,
            next_checkup: now + CHECKUP_INTERVAL,
            leavers: Vec::new(),
            is_leaving: false,
        }
    }

    /// Runs until it is stopped; then every listener is closed.
    ///
    /// A panic here is a defect that has cost this worker's listeners their state, and a back-end that fails has cost
    /// them their sockets. Continuing without the worker would refuse its share of joins for ever, so the process ends
    /// and its supervisor starts it anew.
    pub(crate) fn run(mut self) {
        let _guard = net::AbortOnPanic("a worker");
        net::time_slice::request_short();
        self.links.books.enter_thread();
        let mut events = Vec::new();
        loop {
            let timeout = match self.step(Instant::now(), &mut events, &mut net::cpu::thread_time) {
                // The step has taken some of that time.
                NextStep::At(due) => Some(due.saturating_duration_since(Instant::now())),
                NextStep::Woken => None,
                NextStep::Stopped => return,
            };
            if let Err(error) = self.outlet.backend.wait(timeout, &mut events) {
                tracing::error!(worker = self.index, %error, "the back-end failed; the process cannot continue without this worker");
                std::process::abort();
            }
        }
    }

    /// Runs one turn: handles the sockets' events since the last one, carries out commands, and visits subgroups that
    /// are due. `events` is empty afterwards; `cpu` returns the CPU time that the calling thread has used so far.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        events: &mut Vec<Event>,
        cpu: &mut impl FnMut() -> Duration,
    ) -> NextStep {
        for event in events.drain(..) {
            self.on_event(event, now);
        }
        if !self.take_commands(now) {
            self.dismiss_all();
            return NextStep::Stopped;
        }
        self.take_marks();
        self.visit_due(now, cpu);
        if now >= self.next_checkup {
            self.checkup(now);
        }
        self.next()
    }

    /// Returns the time of the next step.
    fn next(&self) -> NextStep {
        let due = self.schedule.peek().map(|Reverse((due, _))| *due);
        let idle = self.lane_index.is_empty() && self.unsent_departures.is_empty();
        let checkup = (!idle).then_some(self.next_checkup);
        let next = due.into_iter().chain(checkup).min();
        next.map_or(NextStep::Woken, NextStep::At)
    }

    /// Carries out waiting commands; returns `false` when the worker is to stop.
    fn take_commands(&mut self, now: Instant) -> bool {
        for _ in 0..COMMANDS_PER_ROUND {
            match self.links.inbox.try_recv() {
                Ok(Command::Attach(attach)) => self.attach(*attach, now),
                Ok(Command::Kick(ids)) => self.kick(&ids),
                Ok(Command::AnnounceLeave) => self.announce_leave(now),
                Ok(Command::Report(reply)) => {
                    // The caller may have given up waiting.
                    reply.try_send(self.report()).ok();
                }
                Ok(Command::Stop) | Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    return false;
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => return true,
            }
        }
        // There may be more commands, and their wake-ups may be used up.
        self.links.waker.wake();
        true
    }

    fn take_marks(&mut self) {
        self.links.waker.take(|index| {
            if let Some(lane) = self.lanes.at_mut(index as usize) {
                enqueue(&mut self.schedule, lane, index);
            }
        });
    }

    /// Visits subgroups that are due, for a bounded time.
    fn visit_due(&mut self, now: Instant, cpu: &mut impl FnMut() -> Duration) {
        let mut spent = Duration::ZERO;
        while spent < ROUND_MAX {
            let now = now + spent;
            match self.schedule.peek() {
                Some(Reverse((due, _))) if *due <= now => {}
                _ => return,
            }
            let Some(Reverse((_, index))) = self.schedule.pop() else {
                return;
            };
            spent += self.visit(index, now, cpu).max(VISIT_COST_MIN);
        }
    }

    /// Visits the next subgroup of a lane and schedules the one after it. Returns its cost.
    fn visit(&mut self, index: u32, now: Instant, cpu: &mut impl FnMut() -> Duration) -> Duration {
        let Some(lane) = self.lanes.at_mut(index as usize) else {
            return Duration::ZERO;
        };
        lane.queued = false;
        let mut cost = Duration::ZERO;
        if let Some(group) = lane.take_due() {
            let began = cpu();
            let (outlet, books) = (&mut self.outlet, &self.links.books);
            lane.visit(group, outlet, books, now, &mut self.leavers);
            let ended = cpu();
            cost = ended.saturating_sub(began);
            let (before, after) = lane.learn_cost(group, cost);
            self.turn_cost = (self.turn_cost + after).saturating_sub(before);
            books.visited(cost, ended);
            books.turn_costs(self.turn_cost);

            let interval = sample_interval(&lane.view);
            let (before, after) = lane.learn_demand(interval);
            self.demand = (self.demand + after - before).max(0.0);
            books.demands(self.demand);
            let window = lane
                .lane
                .policy
                .window(self.turn_cost, self.target_utilisation, interval);
            books.window_seconds[lane.lane.class as usize].observe_duration(window, 1);
            lane.pace(window, now);
            self.dismiss_leavers(index, group);
        }
        self.reschedule(index, now);
        cost
    }

    /// Queues a lane that has more to do, or arms its bell.
    fn reschedule(&mut self, index: u32, now: Instant) {
        let Some(lane) = self.lanes.at_mut(index as usize) else {
            return;
        };
        if lane.is_due() {
            enqueue(&mut self.schedule, lane, index);
            return;
        }
        lane.lane.bells[self.index].arm(index);
        if lane.view.is_stale() {
            lane.lane.bells[self.index].disarm();
            enqueue(&mut self.schedule, lane, index);
        } else if lane.lane.ended() {
            self.close_ended(index, now);
        }
    }

    /// Closes the listeners of an ended lane that have received everything.
    fn close_ended(&mut self, index: u32, now: Instant) {
        let mut group = 0;
        while let Some(lane) = self.lanes.at_mut(index as usize)
            && group < lane.groups.len()
        {
            lane.ended_at.get_or_insert(now);
            let (outlet, books) = (&mut self.outlet, &self.links.books);
            lane.visit(group, outlet, books, now, &mut self.leavers);
            self.dismiss_leavers(index, group);
            group += 1;
        }
    }

    fn listener_mut(&mut self, position: Position) -> Option<&mut Listener> {
        let lane = self.lanes.at_mut(position.lane as usize)?;
        lane.groups
            .get_mut(position.group as usize)?
            .members
            .get_mut(position.index as usize)
    }
}

/// Puts a lane into the schedule once.
fn enqueue(schedule: &mut BinaryHeap<Reverse<(Instant, u32)>>, lane: &mut Carousel, index: u32) {
    if !lane.queued {
        lane.queued = true;
        schedule.push(Reverse((lane.pace.next_visit, index)));
    }
}
