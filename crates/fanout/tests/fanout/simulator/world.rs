//! A world: the core with stations and an audience, on a time of its own.
//!
//! Everything that happens is an event with its time, and time advances to the next one. A worker is stepped when it
//! was woken, when a socket has an event, or at the time that it asked for; while it is at work it has no time for
//! more, like a thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use base::Lock;
use fanout::gate::Gatekeeper;
use fanout::testing::{NextStep, SteppedWorker};
use fanout::{Config, Departure, Fanout, LaneId, Registry};
use media::StreamName;
use net::{Backend, Event};

use super::agenda::What;
use super::audience::Listener;
use super::peer::{Nanos, SECOND};
use super::plan::{Pace, Plan, StreamPlan};
use super::rng::{Rng, mix};
use super::sockets::{ModelBackend, Sockets};
use super::station::{Air, Station};
use super::tally::Tally;
use super::wire::Written;

/// Steps that a worker may take at one moment: no more than it has lanes and commands.
const STEPS_AT_ONCE_MAX: u32 = 1_000;

/// A worker and the time of its next step.
pub(crate) struct ScheduledWorker {
    worker: SteppedWorker,
    waker: File,
    events: Vec<Event>,
    /// Time of its next step, as far as is known.
    due: Option<Nanos>,
    is_busy_until: Nanos,
    steps_at_once: (Nanos, u32),
    is_stopped: bool,
}

/// A lane as the audience knows it.
pub(crate) struct Lane {
    pub(crate) id: LaneId,
    pub(crate) stream: usize,
    pub(crate) written: Arc<Lock<Written>>,
}

/// The core with stations and an audience, on a time of its own.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) rng: Rng,
    pub(crate) now: Nanos,
    base: Instant,
    /// Time that the core's clocks show.
    clock: Arc<AtomicU64>,
    /// Start and end of the time for which the clocks stand still.
    pub(crate) frozen: Option<(Nanos, Nanos)>,
    /// Time up to which the consequences of faults may last.
    pub(crate) troubled_until: Nanos,
    pub(crate) fanout: Arc<Fanout>,
    pub(crate) registry: Registry,
    pub(crate) gatekeeper: Gatekeeper,
    departed: Receiver<Departure>,
    pub(crate) sockets: Arc<Lock<Sockets>>,
    pub(crate) workers: Vec<ScheduledWorker>,
    pub(crate) stations: Vec<Station>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) lane_index: HashMap<LaneId, usize>,
    /// All listeners ever, by peer.
    pub(crate) listeners: Vec<Listener>,
    pub(crate) present: u64,
    /// Peers of the listeners that may be there; looked through once a second.
    pub(crate) roll: Vec<usize>,
    agenda: BinaryHeap<Reverse<(Nanos, u64, What)>>,
    entries: u64,
    pub(crate) tally: Tally,
    /// The one listener more, while it is there.
    pub(crate) ghost: Option<usize>,
    /// Peer of the one listener more, even after it has left.
    pub(crate) ghost_peer: Option<usize>,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        let mut rng = Rng::new(plan.seed);
        let base = Instant::now();
        let clock = Arc::new(AtomicU64::new(0));
        let sockets = Sockets::new(plan.workers).expect("descriptors");
        sockets.lock().is_free = plan.is_free;
        let config = Config {
            workers: plan.workers,
            target_utilisation: 0.02,
            log_bytes_max: plan.log_bytes_max,
        };
        let mut wakers = Vec::new();
        let shown = Arc::clone(&clock);
        let (fanout, workers, departed) = Fanout::stepped(
            &config,
            move || base + Duration::from_nanos(shown.load(Ordering::Relaxed)),
            || {
                let backend = ModelBackend::new(wakers.len(), &sockets)?;
                wakers.push(File::from(backend.waker().as_fd().try_clone_to_owned()?));
                Ok(Box::new(backend) as Box<dyn Backend>)
            },
        )
        .expect("descriptors");
        let workers = workers
            .into_iter()
            .zip(wakers)
            .map(|(worker, waker)| ScheduledWorker {
                worker,
                waker,
                events: Vec::new(),
                due: None,
                is_busy_until: 0,
                steps_at_once: (0, 0),
                is_stopped: false,
            });
        let workers = workers.collect();
        let rules = {
            let plans = plan.streams.clone();
            Box::new(move |name: &StreamName| {
                let index = (0..plans.len()).find(|index| super::station::name(*index) == *name);
                plans[index.expect("a stream of this world")].settings
            })
        };
        let (registry, gatekeeper) = Registry::new(Arc::clone(&fanout), 0, rules);
        let stations = plan.streams.iter().enumerate();
        let stations =
            stations.map(|(index, stream)| Station::new(index, stream.clone(), rng.fork()));
        let stations = stations.collect();
        Self {
            rng,
            now: 0,
            base,
            clock,
            frozen: None,
            troubled_until: 0,
            fanout,
            registry,
            gatekeeper,
            departed,
            sockets,
            workers,
            stations,
            lanes: Vec::new(),
            lane_index: HashMap::new(),
            listeners: Vec::new(),
            present: 0,
            roll: Vec::new(),
            agenda: BinaryHeap::new(),
            entries: 0,
            tally: Tally::default(),
            ghost: None,
            ghost_peer: None,
            plan,
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Self {
        self.open();
        let gathering = (self.plan.audience / 500).max(2) * SECOND;
        for _ in 0..self.plan.audience {
            let at = self.rng.range(0, gathering);
            self.plan(at, What::Arrive);
        }
        if self.plan.ghost.is_some() {
            // Its lane is there with or without it.
            let mut others = 0;
            while others < 2 {
                self.run_until(self.now + SECOND);
                others += u32::from(self.join(0, Pace::Fast).is_some());
            }
            self.plan(self.now + 10 * SECOND, What::Ghost);
        }
        if self.plan.storms {
            self.plan(20 * SECOND, What::Storm);
        }
        if self.plan.audience > 1 && self.plan.talkers > 0 {
            self.plan(7 * SECOND, What::Kick);
        }
        if self.plan.faults {
            self.plan(11 * SECOND, What::Fault);
        }
        self.run_until(self.plan.duration);
        self
    }

    /// Makes publishers act and seconds be counted, and nothing else happen by itself.
    pub(crate) fn open(&mut self) {
        for station in 0..self.stations.len() {
            self.plan(0, What::Station(station));
        }
        self.plan(SECOND, What::Second);
    }

    /// Shuts the server down: all listeners get the announcement, streams end, workers stop.
    pub(crate) fn close(mut self) -> Tally {
        self.fanout.announce_leave();
        self.run_until(self.now + 2 * SECOND);
        self.stations.clear();
        self.registry.end_all();
        // Listeners that still drain their bytes have five seconds, and a checkup, to do so.
        self.run_until(self.now + 8 * SECOND);
        law!(self, self.present == 0, "some stay after the end");
        self.fanout.stop();
        self.run_until(self.now + SECOND);
        let are_stopped = self.workers.iter().all(|scheduled| scheduled.is_stopped);
        law!(self, are_stopped, "a worker goes on");
        self.check_books();
        let shared = Arc::clone(&self.sockets);
        let sockets = shared.lock();
        (self.tally.sends, self.tally.bytes) = (sockets.sends, sockets.bytes);
        self.tally.trace ^= sockets.trace;
        drop(sockets);
        let left = self.fanout.log_bytes();
        law!(self, left == 0, "logs without a lane hold {left} bytes");
        self.tally
    }

    pub(crate) fn run_until(&mut self, end: Nanos) {
        self.deliver();
        while let Some(Reverse((at, _, _))) = self.agenda.peek()
            && *at <= end
        {
            let Some(Reverse((at, _, what))) = self.agenda.pop() else {
                break;
            };
            self.now = self.now.max(at);
            self.show_time();
            self.handle(at, what);
            self.deliver();
        }
        self.now = self.now.max(end);
        self.show_time();
    }

    fn handle(&mut self, at: Nanos, what: What) {
        match what {
            What::Step(worker) if self.workers[worker].due == Some(at) => self.step(worker),
            What::Step(_) => {}
            What::Room(peer) => {
                let now = self.now;
                self.sockets().look(peer, now);
            }
            What::Station(index) => self.act(index),
            What::Arrive => self.arrive(),
            What::Ghost => self.arrive_ghost(),
            What::Leave(peer) => self.sockets().hang_up(peer),
            What::Stall(peer, stalls) => self.stall(peer, stalls),
            What::Speak(peer) => self.speak(peer),
            What::Storm => self.storm(),
            What::Kick => self.kick(),
            What::Fault => self.fault(),
            What::Second => self.second(),
        }
    }

    /// Plans an event.
    pub(crate) fn plan(&mut self, at: Nanos, what: What) {
        self.entries += 1;
        self.agenda.push(Reverse((at, self.entries, what)));
    }

    pub(crate) fn sockets(&self) -> MutexGuard<'_, Sockets> {
        self.sockets.lock()
    }

    pub(crate) fn stream(&self, lane: usize) -> &StreamPlan {
        &self.plan.streams[self.lanes[lane].stream]
    }

    /// Returns the time that the core's clocks show.
    pub(crate) fn instant(&self) -> Instant {
        self.base + Duration::from_nanos(self.clock.load(Ordering::Relaxed))
    }

    pub(crate) fn show_time(&mut self) {
        let shown = match self.frozen {
            Some((since, until)) if self.now < until => since,
            _ => {
                self.frozen = None;
                self.now
            }
        };
        self.clock.store(shown, Ordering::Relaxed);
    }

    fn act(&mut self, index: usize) {
        let (now, at) = (self.now, self.instant());
        let next = self.stations.get_mut(index);
        let air = Air {
            registry: &self.registry,
            gatekeeper: &self.gatekeeper,
            now,
            at,
        };
        let next = next.map(|station| station.act(air));
        if let Some(next) = next.filter(|next| *next < Nanos::MAX) {
            self.plan(next.max(now + 1), What::Station(index));
        }
    }

    /// Passes on the sockets' events, and gives a turn to each worker that was woken.
    fn deliver(&mut self) {
        let (rooms, news) = {
            let mut sockets = self.sockets();
            let rooms = std::mem::take(&mut sockets.rooms);
            sockets.reported += sockets.news.len() as u64;
            (rooms, std::mem::take(&mut sockets.news))
        };
        for (at, peer) in rooms {
            self.plan(at.max(self.now), What::Room(peer));
        }
        for (worker, event) in news {
            self.workers[worker].events.push(event);
        }
        for index in 0..self.workers.len() {
            let scheduled = &mut self.workers[index];
            let is_woken = (&scheduled.waker).read(&mut [0; 8]).is_ok();
            self.tally.wakes += u64::from(is_woken);
            if is_woken || !scheduled.events.is_empty() {
                self.give_turn(index, self.now);
            }
        }
    }

    /// Plans a worker's step at a time, or as soon as it is free, if it is not stepped earlier.
    pub(crate) fn give_turn(&mut self, index: usize, at: Nanos) {
        let scheduled = &mut self.workers[index];
        let at = at.max(scheduled.is_busy_until);
        if scheduled.due.is_none_or(|due| due > at) && !scheduled.is_stopped {
            scheduled.due = Some(at);
            self.plan(at, What::Step(index));
        }
    }

    fn step(&mut self, index: usize) {
        let (now, at) = (self.now, self.instant());
        let shared = Arc::clone(&self.sockets);
        let cpu_before = {
            let mut sockets = self.sockets();
            sockets.begin(now);
            sockets.cpu[index]
        };
        let scheduled = &mut self.workers[index];
        scheduled.due = None;
        // Events that it receives now were reported before; those that it finds by itself come on top.
        let mut cpu = || Duration::from_nanos(shared.lock().cpu[index]);
        let next = scheduled.worker.step(at, &mut scheduled.events, &mut cpu);
        let spent = self.sockets().cpu[index] - cpu_before;
        let scheduled = &mut self.workers[index];
        scheduled.is_busy_until = now + spent;
        let (moment, steps) = &mut scheduled.steps_at_once;
        *steps = if *moment == now { *steps + 1 } else { 1 };
        *moment = now;
        let spins = *steps > STEPS_AT_ONCE_MAX;
        scheduled.is_stopped |= next == NextStep::Stopped;
        law!(self, !spins, "a worker spins");
        self.tally.steps += 1;
        self.tally.trace = mix(self.tally.trace ^ now ^ index as u64);
        if let NextStep::At(due) = next {
            let due = due.saturating_duration_since(self.base).as_nanos() as Nanos;
            let due = self.frozen.map_or(due, |(_, until)| due.max(until));
            self.give_turn(index, due.max(now));
        }
        self.read_departures();
        self.check_step();
    }

    fn read_departures(&mut self) {
        while let Ok(departure) = self.departed.try_recv() {
            self.see_off(&departure);
        }
    }

    /// Returns the windows that a lane has at the workers, with the number of subgroups.
    pub(crate) fn windows(&self, lane: LaneId) -> impl Iterator<Item = (Duration, usize)> {
        self.workers
            .iter()
            .filter_map(move |scheduled| scheduled.worker.window(lane))
    }

    /// Returns the workers' reports on their listeners.
    pub(crate) fn report(&self) -> Vec<fanout::ListenerReport> {
        let reports = self
            .workers
            .iter()
            .map(|scheduled| scheduled.worker.report());
        reports.flatten().collect()
    }

    /// Checks that a law holds; otherwise ends the test with the seed and the time.
    #[track_caller]
    pub(crate) fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        assert!(
            holds,
            "seed {}, {:.6} s into it: {}",
            self.plan.seed,
            self.now as f64 / 1e9,
            what()
        );
    }
}
