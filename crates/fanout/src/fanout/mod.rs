//! The set of workers, and how listeners get to them.

mod all_books;
mod assembly;
mod controls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::{Counter, Lock};
use bytes::Bytes;
use log::Budget;
use media::Timestamp;
use net::Transport;

use self::all_books::AllBooks;
use self::controls::Controls;
use crate::books::{Books, Plane};
use crate::checkup::{Checkups, Standing};
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
use crate::worker::{Attach, Command, Handle, WorkerWaker};

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
    /// Of listeners that have a [`Guest`].
    pub(crate) controls: Controls,
    all_books: AllBooks,
    /// [`LogReader`]s now.
    readers_now: Counter,
    pub(crate) checkups: Checkups,
    departures: SyncSender<Departure>,
    threads: Lock<Vec<JoinHandle<()>>>,
    clock: Clock,
    started: Instant,
}

impl Fanout {
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
        self.controls.enter(id, Arc::clone(&control));
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
        ids.retain(|id| !self.controls.kick(*id));
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
        let mut all = self.controls.report();
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

    /// Opens the books of a thread that serves listeners by itself: one set for each, for as long as the
    /// process runs.
    pub fn open_books(&self, plane: Plane) -> Arc<Books> {
        self.all_books.open(plane)
    }

    /// All books: the workers' in their order, those of tasks, and those that were opened.
    pub fn books(&self) -> Vec<Arc<Books>> {
        self.all_books.list()
    }

    /// The workers' books.
    pub fn worker_books(&self) -> &[Arc<Books>] {
        &self.all_books.workers
    }

    /// The books of listeners that tasks serve.
    pub fn task_books(&self) -> &Arc<Books> {
        &self.all_books.tasks
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
        at_workers.sum::<u64>() + self.all_books.listeners_elsewhere()
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

    pub(crate) fn wakers(&self) -> &Arc<[WorkerWaker]> {
        &self.wakers
    }

    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    pub(crate) fn reader_left(&self, departure: Departure) {
        self.controls.leave(departure.id);
        if let Err(TrySendError::Full(departure) | TrySendError::Disconnected(departure)) =
            self.departures.try_send(departure)
        {
            // Its permit under the limits must be released all the same.
            self.directory.leave(&departure);
            tracing::warn!("a departure is missing from the access log: their reader is too slow");
        }
    }

    fn load(&self, worker: usize) -> Load {
        let books = &self.all_books.workers[worker];
        let gone: u64 = books.departures.sum();
        Load {
            demand: books.demand_nanos.value() as f64 / 1e9,
            listeners: (self.workers[worker].attached() as u64).saturating_sub(gone),
        }
    }
}
