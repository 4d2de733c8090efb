//! Workers: operating-system threads that own listeners' sockets.
//!
//! A worker sleeps until a lane has news and its window has passed, or a socket has, or somebody
//! left a command. It then visits subgroups, one after the other, each for a few milliseconds at
//! the most. Nothing here takes a lock that a publisher, a join or the operator's port holds.
//!
//! [`Worker`] is the loop, [`carousel`] one lane of it, [`listener`] one listener; [`Handle`] is
//! how the rest of the program speaks to it.

mod carousel;
mod cost;
mod handle;
mod listener;
mod pace;
mod slab;
mod summons;
mod survey;
mod visits;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use media::Timestamp;
use net::{Backend, Event, Inbound, Received, Slot};

pub(crate) use handle::{Attach, Command, Handle};
pub use handle::{Departure, ListenerReport};
pub(crate) use summons::Summons;
pub(crate) use visits::{Joins, Visits};

use self::carousel::{Carousel, Leaver};
use self::listener::Listener;
use self::slab::{Seat, Slab};
use self::survey::CHECKUP_INTERVAL;
use crate::conversation::{Released, Talk};
use crate::cursor::Reason;
use crate::lane::LaneId;
use crate::stats::WorkerStats;

/// Lanes one worker may serve at once. Bounds the set of marks a wake-up has to look through.
pub(crate) const LANES_MAX: u32 = 16_384;

/// Commands that may wait for a worker; a join beyond that is refused. At a turn of 2 ms this is
/// two million joins a second.
pub(crate) const INBOX_MAX: usize = 4_096;

/// Commands carried out between two looks at the schedule.
const COMMANDS_PER_ROUND: usize = 64;

/// Visits go on for this long before sockets and commands get a look again.
const ROUND_MAX: Duration = Duration::from_millis(2);

/// Bytes that a listener may have sent since it was last listened to. Players send some tens of bytes
/// at a time; one that sends this much while a worker is busy has something else in mind.
const HEARD_BYTES_MAX: usize = 16 * 1024;

/// Bytes received at once from a listener.
const HEAR_BYTES: usize = 2 * 1024;

/// The loop of one fan-out thread, and everything it owns.
pub(crate) struct Worker {
    index: usize,
    target_utilisation: f64,
    backend: Box<dyn Backend>,
    inbox: Receiver<Command>,
    summons: Summons,
    stats: Arc<WorkerStats>,
    departures: SyncSender<Departure>,
    /// Departures that found that channel full.
    unsent_departures: Vec<Departure>,
    lanes: Vec<Option<Carousel>>,
    free_lanes: Vec<u32>,
    lane_index: HashMap<LaneId, u32>,
    slab: Slab,
    /// Lanes with news, by the moment of their next visit.
    schedule: BinaryHeap<Reverse<(Instant, u32)>>,
    /// CPU time of a full turn over all lanes.
    turn_cost: Duration,
    /// The sum of the lanes' demands.
    demand: f64,
    next_checkup: Instant,
    /// Scratch, empty between uses.
    leavers: Vec<Leaver>,
}

impl Worker {
    pub(crate) fn new(
        index: usize,
        target_utilisation: f64,
        backend: Box<dyn Backend>,
        inbox: Receiver<Command>,
        summons: Summons,
        stats: Arc<WorkerStats>,
        departures: SyncSender<Departure>,
    ) -> Self {
        Self {
            index,
            target_utilisation,
            backend,
            inbox,
            summons,
            stats,
            departures,
            unsent_departures: Vec::new(),
            lanes: Vec::new(),
            free_lanes: Vec::new(),
            lane_index: HashMap::new(),
            slab: Slab::default(),
            schedule: BinaryHeap::new(),
            turn_cost: Duration::ZERO,
            demand: 0.0,
            next_checkup: Instant::now() + CHECKUP_INTERVAL,
            leavers: Vec::new(),
        }
    }

    /// Runs until told to stop; then every listener is let go.
    ///
    /// A panic here is a defect that has cost this worker's listeners their state, and a back-end that
    /// fails has cost them their sockets. Going on without the worker would refuse its share of joins
    /// for ever, so the process ends and its supervisor starts it anew.
    pub(crate) fn run(mut self) {
        let _guard = AbortOnPanic;
        let mut events = Vec::new();
        while self.take_commands() {
            self.take_summons();
            self.visit_due();
            let now = Instant::now();
            if now >= self.next_checkup {
                self.checkup(now);
            }
            if let Err(error) = self.backend.wait(self.sleep(now), &mut events) {
                tracing::error!(worker = self.index, %error, "the back-end failed; the process cannot go on without this worker");
                std::process::abort();
            }
            for event in events.drain(..) {
                self.on_event(event);
            }
        }
        self.dismiss_all();
    }

    /// How long nothing is due.
    fn sleep(&self, now: Instant) -> Option<Duration> {
        let due = self.schedule.peek().map(|Reverse((due, _))| *due);
        let idle = self.lane_index.is_empty() && self.unsent_departures.is_empty();
        let checkup = (!idle).then_some(self.next_checkup);
        let next = due.into_iter().chain(checkup).min()?;
        Some(next.saturating_duration_since(now))
    }

    /// `false` when the worker is to stop.
    fn take_commands(&mut self) -> bool {
        for _ in 0..COMMANDS_PER_ROUND {
            match self.inbox.try_recv() {
                Ok(Command::Attach(attach)) => self.attach(*attach),
                Ok(Command::Kick(id)) => self.kick(id),
                Ok(Command::AnnounceLeave) => self.announce_leave(),
                Ok(Command::Report(reply)) => {
                    // Whoever asked may have given up waiting.
                    reply.try_send(self.report()).ok();
                }
                Ok(Command::Stop) | Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    return false;
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => return true,
            }
        }
        // There may be more, and their wake-ups may be spent.
        self.summons.wake();
        true
    }

    fn take_summons(&mut self) {
        let Self {
            lanes,
            schedule,
            summons,
            ..
        } = self;
        summons.take(|index| {
            if let Some(Some(lane)) = lanes.get_mut(index as usize) {
                enqueue(schedule, lane, index);
            }
        });
    }

    /// Visits subgroups whose moment has come, for a bounded time.
    fn visit_due(&mut self) {
        let round_end = Instant::now() + ROUND_MAX;
        loop {
            let now = Instant::now();
            match self.schedule.peek() {
                Some(Reverse((due, _))) if *due <= now && now < round_end => {}
                _ => return,
            }
            let Some(Reverse((_, index))) = self.schedule.pop() else {
                return;
            };
            self.visit(index, now);
        }
    }

    /// Visits the next subgroup of a lane and schedules the one after it.
    fn visit(&mut self, index: u32, now: Instant) {
        let Some(Some(lane)) = self.lanes.get_mut(index as usize) else {
            return;
        };
        lane.queued = false;
        if let Some(group) = lane.take_due() {
            let began = net::cpu::thread_time();
            lane.visit(
                group,
                &mut *self.backend,
                &self.stats,
                now,
                &mut self.leavers,
            );
            let ended = net::cpu::thread_time();
            let cost = ended.saturating_sub(began);
            let (before, after) = lane.learn_cost(group, cost);
            self.turn_cost = (self.turn_cost + after).saturating_sub(before);
            self.stats.busy_nanos.add(cost.as_nanos() as u64);
            self.stats.turn_seconds.observe_duration(self.turn_cost, 1);

            self.stats.cpu_nanos.set(ended.as_nanos() as u64);

            let interval = lane.sample_interval();
            let (before, after) = lane.learn_demand(interval);
            self.demand = (self.demand + after - before).max(0.0);
            self.stats.demand_nanos.set((self.demand * 1e9) as u64);
            let window = lane
                .lane
                .policy
                .window(self.turn_cost, self.target_utilisation, interval);
            self.stats.window_seconds[lane.lane.class as usize].observe_duration(window, 1);
            lane.pace(window, now);
            self.dismiss_leavers(index, group);
        }
        self.reschedule(index);
    }

    /// Queues a lane that has more to do, or asks to be told when it has.
    fn reschedule(&mut self, index: u32) {
        let Some(Some(lane)) = self.lanes.get_mut(index as usize) else {
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
            self.close_ended(index);
        }
    }

    /// Lets go of the listeners of a lane that has ended, as far as they have received everything.
    fn close_ended(&mut self, index: u32) {
        let now = Instant::now();
        let mut group = 0;
        while let Some(Some(lane)) = self.lanes.get_mut(index as usize)
            && group < lane.groups.len()
        {
            lane.ended_at.get_or_insert(now);
            lane.visit(
                group,
                &mut *self.backend,
                &self.stats,
                now,
                &mut self.leavers,
            );
            self.dismiss_leavers(index, group);
            group += 1;
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Closed(slot) => {
                if let Some(seat) = self.slab.seat(slot) {
                    self.dismiss(seat, Reason::Left);
                }
            }
            Event::Readable(slot) => {
                if let Some(seat) = self.slab.seat(slot) {
                    self.hear(seat, slot);
                }
            }
            Event::Writable(slot) => {
                let Some(seat) = self.slab.seat(slot) else {
                    return;
                };
                if let Some(listener) = self.listener_mut(seat)
                    && listener.blocked
                {
                    listener.blocked = false;
                    self.flush(seat);
                }
            }
        }
    }

    /// Passes on what a listener has sent, and sends the answers as soon as they may go.
    fn hear(&mut self, seat: Seat, slot: Slot) {
        let now = Instant::now();
        let mut buffer = [0; HEAR_BYTES];
        let mut left = HEARD_BYTES_MAX;
        loop {
            // What comes after its leaving was decided is for whoever gets the socket.
            let listens =
                |listener: &mut Listener| listener.talk.is_some() && !listener.is_leaving();
            if !self.listener_mut(seat).is_some_and(listens) {
                break;
            }
            let goes_on = match self.backend.receive(slot, &mut buffer) {
                Received::Nothing => break,
                Received::Bytes(count) if count <= left => {
                    left -= count;
                    let talk = self.listener_mut(seat).and_then(|l| l.talk.as_mut());
                    talk.is_some_and(|talk| talk.hear(&buffer[..count], now))
                }
                Received::Bytes(_) | Received::Closed => false,
            };
            if !goes_on {
                self.dismiss(seat, Reason::Left);
                return;
            }
        }
        self.say(seat);
    }

    /// Sends words that wait, unless the socket is full; then they follow when it is not.
    fn say(&mut self, seat: Seat) {
        let waits = |listener: &mut Listener| {
            let has_something = listener
                .talk
                .as_ref()
                .is_some_and(|talk| talk.has_something());
            has_something && !listener.blocked
        };
        if self.listener_mut(seat).is_some_and(waits) {
            self.flush(seat);
        }
    }

    fn announce_leave(&mut self) {
        let slots: Vec<Slot> = self
            .listeners()
            .filter(|(_, _, listener)| listener.talk.is_some())
            .map(|(_, _, listener)| listener.slot)
            .collect();
        for slot in slots {
            let Some(seat) = self.slab.seat(slot) else {
                continue;
            };
            if let Some(talk) = self.listener_mut(seat).and_then(|l| l.talk.as_mut()) {
                talk.announce_leave();
            }
            self.say(seat);
        }
    }

    /// Brings one listener up to date outside its subgroup's visit.
    fn flush(&mut self, seat: Seat) {
        let Some(Some(lane)) = self.lanes.get_mut(seat.lane as usize) else {
            return;
        };
        let (group, index) = (seat.group as usize, seat.index as usize);
        let now = Instant::now();
        lane.flush(
            group,
            index,
            &mut *self.backend,
            &self.stats,
            now,
            &mut self.leavers,
        );
        let unfinished = lane.groups[group].has_unfinished();
        self.dismiss_leavers(seat.lane, group);
        if unfinished && let Some(Some(lane)) = self.lanes.get_mut(seat.lane as usize) {
            enqueue(&mut self.schedule, lane, seat.lane);
        }
    }

    fn attach(&mut self, attach: Attach) {
        let now = Instant::now();
        let Attach {
            id,
            socket,
            head,
            guard,
            requested,
            conversation,
            after,
        } = attach;
        let protocol = guard.lane().format.protocol;
        let Some(lane_index) = self.lane_for(&guard, now) else {
            self.depart(id, Reason::Shutdown, 0, 0);
            return;
        };
        let Some(Some(lane)) = self.lanes.get_mut(lane_index as usize) else {
            return;
        };
        let group = lane.group_with_room();
        let members = &mut lane.groups[group].members;
        let seat = Seat {
            lane: lane_index,
            group: group as u32,
            index: members.len() as u32,
        };
        let slot = self.slab.insert(seat);
        let inbound = match conversation {
            Some(_) => Inbound::Reported,
            None => Inbound::Dropped,
        };
        if let Err(error) = self.backend.attach(slot, socket, inbound) {
            tracing::debug!(%error, "a listener's socket could not be watched");
            self.slab.remove(slot);
            self.depart(id, Reason::Left, 0, 0);
            self.close_if_empty(lane_index);
            return;
        }
        let talk = conversation.map(|conversation| Box::new(Talk::new(conversation, after)));
        members.push(Listener::new(id, slot, head, requested, guard, talk));
        self.stats.listeners[protocol as usize].add(1);
        lane.view.refresh();
        self.flush(seat);
        // The first listener of a lane is also what asks for the lane's news.
        if let Some(Some(lane)) = self.lanes.get(lane_index as usize)
            && !lane.queued
        {
            self.reschedule(lane_index);
        }
    }

    /// The index of a lane, entering it on first use. `None` when this worker serves too many.
    fn lane_for(&mut self, guard: &crate::lane::LaneGuard, now: Instant) -> Option<u32> {
        let lane = guard.lane();
        if let Some(index) = self.lane_index.get(&lane.id) {
            return Some(*index);
        }
        let index = match self.free_lanes.pop() {
            Some(index) => index,
            None if self.lanes.len() < LANES_MAX as usize => {
                self.lanes.push(None);
                (self.lanes.len() - 1) as u32
            }
            None => return None,
        };
        self.lanes[index as usize] = Some(Carousel::new(Arc::clone(lane), now));
        self.lane_index.insert(lane.id, index);
        Some(index)
    }

    fn close_if_empty(&mut self, index: u32) {
        let Some(slot) = self.lanes.get_mut(index as usize) else {
            return;
        };
        if slot.as_ref().is_none_or(|lane| !lane.is_empty()) {
            return;
        }
        if let Some(lane) = slot.take() {
            lane.lane.bells[self.index].disarm();
            self.turn_cost = self.turn_cost.saturating_sub(lane.cost());
            self.demand = (self.demand - lane.demand()).max(0.0);
            self.stats.demand_nanos.set((self.demand * 1e9) as u64);
            self.lane_index.remove(&lane.lane.id);
            if self.lane_index.is_empty() {
                // Nobody is left to be degraded, and no checkup will come to say so.
                self.stats.degraded.set(0);
            }
            self.free_lanes.push(index);
            self.schedule
                .retain(|Reverse((_, queued))| *queued != index);
        }
    }

    fn listener_mut(&mut self, seat: Seat) -> Option<&mut Listener> {
        let lane = self.lanes.get_mut(seat.lane as usize)?.as_mut()?;
        lane.groups
            .get_mut(seat.group as usize)?
            .members
            .get_mut(seat.index as usize)
    }

    /// Removes what a visit found gone. Positions are taken from the back, so that moving the last
    /// member into a gap disturbs none that is still to go.
    fn dismiss_leavers(&mut self, lane: u32, group: usize) {
        let mut leavers = std::mem::take(&mut self.leavers);
        leavers.sort_unstable_by_key(|(index, _)| Reverse(*index));
        leavers.dedup_by_key(|(index, _)| *index);
        for (index, reason) in leavers.drain(..) {
            self.dismiss(
                Seat {
                    lane,
                    group: group as u32,
                    index: index as u32,
                },
                reason,
            );
        }
        self.leavers = leavers;
    }

    fn dismiss(&mut self, seat: Seat, reason: Reason) {
        let Some(Some(lane)) = self.lanes.get_mut(seat.lane as usize) else {
            return;
        };
        let members = &mut lane.groups[seat.group as usize].members;
        let gone = members.swap_remove(seat.index as usize);
        if let Some(moved) = members.get(seat.index as usize) {
            self.slab.reseat(moved.slot, seat);
        }
        if members.is_empty() {
            let cost = lane.retire(seat.group as usize);
            self.turn_cost = self.turn_cost.saturating_sub(cost);
        }
        let has_all = gone.is_settled(lane.view.end());
        let reached = gone
            .talk
            .as_ref()
            .and_then(|_| lane.view.time_before(gone.offset));
        self.release(gone, reason, has_all, reached);
        self.close_if_empty(seat.lane);
    }

    /// Closes a listener that has been taken out of its subgroup, or gives its socket back.
    /// One that has not taken everything to the end stands in the middle of something, and nobody else
    /// could go on there.
    fn release(
        &mut self,
        mut gone: Listener,
        reason: Reason,
        has_all: bool,
        reached: Option<Timestamp>,
    ) {
        let back = match (gone.talk.take(), reason) {
            (Some(talk), Reason::Ended) if has_all => Some((talk, Released::Ended)),
            (Some(talk), Reason::Left) if talk.is_leaving() => Some((talk, Released::Asked)),
            _ => None,
        };
        let socket = match back {
            Some(_) => self.backend.release(gone.slot),
            None => {
                self.backend.detach(gone.slot);
                None
            }
        };
        self.slab.remove(gone.slot);
        let protocol = gone.guard.lane().format.protocol;
        self.stats.listeners[protocol as usize].sub(1);
        self.depart(gone.id, reason, gone.sent_bytes, gone.skips);
        // Last, so that whoever gets it finds the listener gone from all books.
        if let (Some((talk, why)), Some(socket)) = (back, socket) {
            talk.release(socket, why, reached);
        }
    }

    fn depart(&mut self, id: crate::ListenerId, reason: Reason, sent_bytes: u64, skips: u32) {
        self.stats.departures[reason as usize].add(1);
        self.unsent_departures.push(Departure {
            id,
            reason,
            sent_bytes,
            skips,
        });
        self.report_departures();
    }

    /// Passes departures on without ever waiting. What does not fit stays here, bounded by the
    /// listeners this worker had.
    fn report_departures(&mut self) {
        while let Some(departure) = self.unsent_departures.pop() {
            if let Err(TrySendError::Full(departure)) = self.departures.try_send(departure) {
                self.unsent_departures.push(departure);
                return;
            }
        }
    }

    fn kick(&mut self, id: crate::ListenerId) {
        if let Some(seat) = self.find(id) {
            self.dismiss(seat, Reason::Kicked);
        }
    }

    fn dismiss_all(&mut self) {
        let slots: Vec<Slot> = self
            .listeners()
            .map(|(_, _, listener)| listener.slot)
            .collect();
        for slot in slots {
            if let Some(seat) = self.slab.seat(slot) {
                self.dismiss(seat, Reason::Shutdown);
            }
        }
    }
}

struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("a worker has panicked; the process cannot go on without it");
            std::process::abort();
        }
    }
}

/// Puts a lane into the schedule once.
fn enqueue(schedule: &mut BinaryHeap<Reverse<(Instant, u32)>>, lane: &mut Carousel, index: u32) {
    if !lane.queued {
        lane.queued = true;
        schedule.push(Reverse((lane.pace.next_visit, index)));
    }
}
