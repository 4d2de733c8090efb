//! The set of workers, and how listeners get to them.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use base::{Counter, Lock};
use bytes::Bytes;
use log::Budget;
use media::Timestamp;
use net::{Backend, Transport};

use crate::books::{Books, Plane};
use crate::checkup::Standing;
use crate::clock::Clock;
use crate::conversation::Conversation;
use crate::directory::{Directory, ListenerRecord};
use crate::events::{Conditions, Events, Refusal};
use crate::guest::Guest;
use crate::handle::{Control, ListenerHandle};
use crate::lane::LaneGuard;
use crate::listener::{Departure, ListenerId, ListenerReport};
use crate::placement::{Load, Placement};
use crate::reader::LogReader;
use crate::worker::{Attach, Command, Handle, INBOX_MAX, Links, Worker, WorkerWaker};

/// How the workers are set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Worker threads; at least one.
    pub workers: usize,
    /// The share of a core that a worker may spend on visits before messages grow.
    pub target_utilisation: f64,
    /// Bytes that the logs of all lanes may hold.
    pub log_bytes_max: usize,
}

/// Departures that may wait to be read. Workers keep what does not fit, so none is lost to a slow reader.
const DEPARTURES_MAX: usize = 16 * 1024;

/// How long a report may take; workers answer within a round.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// A listener that is ready to receive a lane.
#[derive(Debug)]
pub struct NewListener {
    /// Its id.
    pub record: ListenerRecord,
    /// Its connection.
    pub transport: Transport,
    /// What to send first: the response head.
    pub head: Bytes,
    /// The lane it asked for.
    pub lane: LaneGuard,
    /// Answers what it sends; without one that is dropped.
    pub conversation: Option<Box<dyn Conversation>>,
    /// The time up to which it has had media before, if it has a conversation: it starts later.
    pub after: Option<Timestamp>,
}

/// The workers have more joins waiting than they can take. The caller has everything back that it needs to
/// answer so.
#[derive(Debug, thiserror::Error)]
#[error("too many listeners are joining at once")]
pub struct AttachRefused {
    /// The listener's connection.
    pub transport: Transport,
    /// The listener's conversation.
    pub conversation: Option<Box<dyn Conversation>>,
}

/// See the module's description.
#[derive(Debug)]
pub struct Fanout {
    workers: Vec<Handle>,
    /// By worker.
    worker_books: Vec<Arc<Books>>,
    backend: &'static str,
    target_utilisation: f64,
    wakers: Arc<[WorkerWaker]>,
    placement: Placement,
    /// Listeners refused because the inbox of their worker was full.
    refused: Counter,
    budget: Arc<Budget>,
    next_id: AtomicU64,
    directory: Directory,
    events: Arc<Events>,
    conditions: Conditions,
    /// Listeners that have a [`Guest`].
    controls: Lock<HashMap<ListenerId, Arc<Control>>>,
    /// Of listeners that tasks serve, and of those with a [`Guest`] that no thread serves.
    task_books: Arc<Books>,
    /// Of threads that serve listeners by themselves.
    other_books: Lock<Vec<Arc<Books>>>,
    /// [`LogReader`]s now.
    readers_now: Counter,
    next_checkup: Lock<Option<Instant>>,
    departures: SyncSender<Departure>,
    threads: Lock<Vec<JoinHandle<()>>>,
    clock: Clock,
    started: Instant,
}

impl Fanout {
    /// Starts the workers, each with a back-end from `backend`. Listeners that leave are reported
    /// through the receiver, which the caller must read.
    ///
    /// # Errors
    /// When a back-end or a thread cannot be made.
    pub fn start(
        config: &Config,
        backend: impl FnMut() -> io::Result<Box<dyn Backend>>,
    ) -> io::Result<(Arc<Self>, Receiver<Departure>)> {
        let (fanout, workers, departed) = Self::assemble(config, Clock::default(), backend)?;
        let mut threads = Vec::new();
        for (index, worker) in workers.into_iter().enumerate() {
            let builder = std::thread::Builder::new().name(format!("fanout-{index}"));
            threads.push(builder.spawn(move || worker.run())?);
        }
        let fanout = Self {
            threads: Lock::new(threads),
            ..fanout
        };
        Ok((Arc::new(fanout), departed))
    }

    /// A set of workers without threads.
    pub(crate) fn assemble(
        config: &Config,
        clock: Clock,
        mut backend: impl FnMut() -> io::Result<Box<dyn Backend>>,
    ) -> io::Result<(Self, Vec<Worker>, Receiver<Departure>)> {
        let now = clock.now();
        let (departures, departed) = sync_channel(DEPARTURES_MAX);
        let events = Arc::new(Events::new(SystemTime::now()));
        let conditions = Conditions::default();
        let mut handles = Vec::new();
        let mut workers = Vec::new();
        let mut books = Vec::new();
        let mut backend_name = "";
        for index in 0..config.workers.max(1) {
            let backend = backend()?;
            backend_name = backend.name();
            let waker = WorkerWaker::new(backend.waker());
            let (inbox, commands) = sync_channel(INBOX_MAX);
            let own = Arc::new(Books::new(Plane::Worker, index));
            let links = Links {
                inbox: commands,
                waker: waker.clone(),
                books: Arc::clone(&own),
                departures: departures.clone(),
                conditions: conditions.sender().clone(),
            };
            workers.push(Worker::new(
                index,
                config.target_utilisation,
                backend,
                links,
                now,
            ));
            handles.push(Handle::new(inbox, waker));
            books.push(own);
        }
        let wakers = handles
            .iter()
            .map(|worker| worker.waker().clone())
            .collect();
        let fanout = Self {
            placement: Placement::new(handles.len(), now),
            refused: Counter::default(),
            workers: handles,
            worker_books: books,
            backend: backend_name,
            target_utilisation: config.target_utilisation,
            wakers,
            budget: Arc::new(Budget::new(config.log_bytes_max)),
            next_id: AtomicU64::new(1),
            directory: Directory::new(Arc::clone(&events)),
            events,
            conditions,
            controls: Lock::default(),
            task_books: Arc::new(Books::new(Plane::Tasks, 0)),
            other_books: Lock::default(),
            readers_now: Counter::default(),
            next_checkup: Lock::default(),
            departures,
            threads: Lock::default(),
            clock,
            started: now,
        };
        Ok((fanout, workers, departed))
    }

    /// An id for the next listener.
    pub fn next_id(&self) -> ListenerId {
        ListenerId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// The directory of all listeners.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The events of streams, of listeners and of what else the server emits.
    pub fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Emits what the threads that carry media have reported. To be called a few times a second.
    pub(crate) fn emit_conditions(&self) {
        self.conditions.emit(&self.directory);
    }

    pub(crate) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Gives a listener's socket to a worker. Its end is reported by a [`Departure`].
    ///
    /// # Errors
    /// When too many joins are waiting; the caller still has the socket and may answer so on it.
    pub fn attach(&self, listener: NewListener) -> Result<(), AttachRefused> {
        let NewListener {
            record,
            transport,
            head,
            lane,
            conversation,
            after,
        } = listener;
        let (id, requested) = (record.id, record.requested);
        let load = |index| self.load(index);
        let chosen = self.placement.choose(lane.lane(), load, requested);
        let worker = &self.workers[chosen];
        let attach = Attach {
            id,
            transport,
            head,
            guard: lane,
            requested,
            conversation,
            after,
        };
        // Entered first, so that the departure of a listener that leaves at once finds its record.
        self.directory.enter(record);
        let attached = worker.attach(attach).map_err(|back| {
            self.refuse(id);
            let Attach {
                transport,
                conversation,
                ..
            } = *back;
            AttachRefused {
                transport,
                conversation,
            }
        });
        attached.inspect(|()| self.directory.joined(id))
    }

    /// Counts and removes a listener that its worker had no room for.
    fn refuse(&self, id: ListenerId) {
        self.refused.add(1);
        if let Some(record) = self.directory.withdraw(id) {
            let refusal = Refusal {
                reason: "worker_inbox",
                protocol: Some(record.format.protocol.label()),
                peer: Some(record.peer),
                others: 0,
            };
            self.events.refuse(Some(&record.stream), refusal);
        }
    }

    /// Follows a lane without a socket of its own.
    pub fn follow(self: &Arc<Self>, record: ListenerRecord, lane: LaneGuard) -> LogReader {
        let standing = Standing::new(lane.lane());
        let guest = self.enter(record, Control::new(lane.is_waiting(), Some(standing)));
        LogReader::new(ListenerHandle::new(guest, lane))
    }

    /// The handle of a listener that another thread serves, which takes it over by
    /// [`ListenerHandle::serve_in`].
    pub fn handle(self: &Arc<Self>, record: ListenerRecord, lane: LaneGuard) -> ListenerHandle {
        let control = Control::new(lane.is_waiting(), None);
        ListenerHandle::new(self.enter(record, control), lane)
    }

    /// Lists and counts a listener that is served outside the workers.
    pub(crate) fn enter(self: &Arc<Self>, record: ListenerRecord, control: Control) -> Guest {
        let (id, requested) = (record.id, record.requested);
        let protocol = record.format.protocol;
        let control = Arc::new(control);
        self.directory.enter(record);
        self.directory.joined(id);
        self.controls.lock().insert(id, Arc::clone(&control));
        Guest::new((id, protocol), Arc::clone(self), control, requested)
    }

    /// Removes a listener, wherever it is. Waits for room in the workers' inboxes; not for asynchronous callers.
    pub fn kick(&self, id: ListenerId) {
        self.kick_all(vec![id], Handle::tell);
    }

    /// Removes the listeners whose permission is over, without waiting. Where a worker's inbox is full, a later
    /// call removes them.
    pub(crate) fn end_permissions(&self, now: Instant) {
        self.kick_all(self.directory.over(now), Handle::try_tell);
    }

    /// One command for each worker, however many listeners they are.
    fn kick_all(&self, mut ids: Vec<ListenerId>, tell: fn(&Handle, Command) -> bool) {
        ids.retain(|id| match self.controls.lock().get(id) {
            Some(control) => {
                control.kick();
                false
            }
            None => true,
        });
        if ids.is_empty() {
            return;
        }
        ids.sort_unstable();
        let ids: Arc<[ListenerId]> = ids.into();
        for worker in &self.workers {
            tell(worker, Command::Kick(Arc::clone(&ids)));
        }
    }

    /// Tells every listener whose protocol can express it that the server is about to leave.
    pub fn announce_leave(&self) {
        for worker in &self.workers {
            worker.tell(Command::AnnounceLeave);
        }
    }

    /// How every listener fares. Blocks for a moment; not for asynchronous callers.
    pub fn report(&self) -> Vec<ListenerReport> {
        let mut all: Vec<_> = self
            .controls
            .lock()
            .iter()
            .map(|(id, control)| control.report(*id))
            .collect();
        let (reply, replies) = sync_channel(self.workers.len());
        let asked = self
            .workers
            .iter()
            .filter(|worker| worker.tell(Command::Report(reply.clone())));
        for _ in 0..asked.count() {
            let Ok(mut report) = replies.recv_timeout(REPORT_TIMEOUT) else {
                break;
            };
            all.append(&mut report);
        }
        all
    }

    /// Ends the workers; their listeners are closed.
    pub fn stop(&self) {
        for worker in &self.workers {
            worker.tell(Command::Stop);
        }
        let mut threads = self.threads.lock();
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a worker had panicked");
            }
        }
    }

    /// Opens the books of a thread that serves listeners by itself: one set for each, for as long as the
    /// process runs.
    pub fn open_books(&self, plane: Plane) -> Arc<Books> {
        let mut all = self.other_books.lock();
        let number = all.iter().filter(|books| books.plane == plane).count();
        let books = Arc::new(Books::new(plane, number));
        all.push(Arc::clone(&books));
        books
    }

    /// All books: the workers' in their order, those of tasks, and those that were opened.
    pub fn books(&self) -> Vec<Arc<Books>> {
        let own = self.worker_books.iter().chain([&self.task_books]);
        own.chain(self.other_books.lock().iter())
            .map(Arc::clone)
            .collect()
    }

    /// The workers' books.
    pub fn worker_books(&self) -> &[Arc<Books>] {
        &self.worker_books
    }

    /// The books of listeners that tasks serve.
    pub fn task_books(&self) -> &Arc<Books> {
        &self.task_books
    }

    /// The name of the workers' back-end.
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// Bytes that log pages hold now.
    pub fn log_bytes(&self) -> usize {
        self.budget.used()
    }

    /// The most that log pages ever hold, in bytes.
    pub fn log_bytes_bound(&self) -> usize {
        self.budget.bound()
    }

    /// Memory pressure of the logs; from 1 on no further format of a stream is begun.
    pub fn log_pressure(&self) -> f64 {
        self.budget.level()
    }

    /// Lanes refused so far for want of memory for their logs.
    pub fn lanes_refused(&self) -> u64 {
        self.budget.refused()
    }

    /// Listeners refused so far because their worker's inbox was full.
    pub fn listeners_refused(&self) -> u64 {
        self.refused.value()
    }

    /// Listeners now, those on their way to a worker included.
    pub fn listeners(&self) -> u64 {
        let at_workers = (0..self.workers.len()).map(|worker| self.load(worker).listeners);
        let others = self.other_books.lock();
        let others = others.iter().chain([&self.task_books]);
        at_workers
            .chain(others.map(|books| books.listeners_now()))
            .sum()
    }

    pub(crate) fn readers_now(&self) -> &Counter {
        &self.readers_now
    }

    pub(crate) fn target_utilisation(&self) -> f64 {
        self.target_utilisation
    }

    /// The time, for readers that are polled without it.
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// When the workers were started.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// The listeners that tasks serve.
    pub(crate) fn readers(&self) -> Vec<(ListenerId, Arc<Control>)> {
        let controls = self.controls.lock();
        let readers = controls.iter().filter(|(_, one)| one.standing().is_some());
        readers.map(|(id, one)| (*id, Arc::clone(one))).collect()
    }

    /// When those are checked again; `None` before the first time.
    pub(crate) fn next_checkup(&self) -> MutexGuard<'_, Option<Instant>> {
        self.next_checkup.lock()
    }

    pub(crate) fn wakers(&self) -> &Arc<[WorkerWaker]> {
        &self.wakers
    }

    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    pub(crate) fn reader_left(&self, departure: Departure) {
        self.controls.lock().remove(&departure.id);
        if let Err(TrySendError::Full(departure) | TrySendError::Disconnected(departure)) =
            self.departures.try_send(departure)
        {
            // Its permit under the limits must be released all the same.
            self.directory.leave(&departure);
            tracing::warn!("a departure is missing from the access log: their reader is too slow");
        }
    }

    fn load(&self, worker: usize) -> Load {
        let books = &self.worker_books[worker];
        let gone: u64 = books.departures.sum();
        Load {
            demand: books.demand_nanos.value() as f64 / 1e9,
            listeners: (self.workers[worker].attached() as u64).saturating_sub(gone),
        }
    }
}
