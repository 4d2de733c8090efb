//! The set of workers, and the ways by which listeners reach them.

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

/// Configuration of the workers.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of worker threads; at least one.
    pub workers: usize,
    /// Share of a core that a worker may spend on visits before messages grow.
    pub target_utilisation: f64,
    /// Upper bound on the bytes held by the logs of all lanes.
    pub log_bytes_max: usize,
}

/// Longest wait for a report; workers answer within a round.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// A listener that is ready to receive a lane.
#[derive(Debug)]
pub struct NewListener {
    /// Its record, with its id.
    pub record: ListenerRecord,
    /// Its connection.
    pub transport: Transport,
    /// Bytes to send first: the response head.
    pub head: Bytes,
    /// Lane it requested.
    pub lane: LaneGuard,
    /// Handler of the bytes that it sends; without one they are dropped.
    pub conversation: Option<Box<dyn Conversation>>,
    /// Media time up to which it has had everything, if it has a conversation: it starts later.
    pub after: Option<Timestamp>,
}

/// The workers have more joins waiting than they can take. It returns everything the caller needs to send that answer.
#[derive(Debug, thiserror::Error)]
#[error("too many listeners are joining at once")]
pub struct AttachRefused {
    /// The listener's connection.
    pub transport: Transport,
    /// The listener's conversation.
    pub conversation: Option<Box<dyn Conversation>>,
}

/// The workers, and everything that serves listeners outside them.
#[derive(Debug)]
pub struct Fanout {
    workers: Vec<Handle>,
    backend: &'static str,
    pub(crate) target_utilisation: f64,
    pub(crate) wakers: Arc<[WorkerWaker]>,
    placement: Placement,
    /// Number of listeners refused because the inbox of their worker was full.
    refused: Counter,
    pub(crate) budget: Arc<Budget>,
    next_id: AtomicU64,
    directory: Directory,
    events: Arc<Events>,
    pub(crate) conditions: Conditions,
    /// Controls of listeners that have a [`Guest`].
    pub(crate) controls: Controls,
    all_books: AllBooks,
    /// Number of current [`LogReader`]s.
    pub(crate) readers_now: Counter,
    pub(crate) checkups: Checkups,
    departures: SyncSender<Departure>,
    threads: Lock<Vec<JoinHandle<()>>>,
    clock: Clock,
    /// Time at which the workers were started.
    pub(crate) started: Instant,
}

impl Fanout {
    /// Returns a new id for the next listener.
    pub fn next_id(&self) -> ListenerId {
        ListenerId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the directory of all listeners.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns the events of streams, of listeners and of the rest of the server.
    pub fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Passes a listener's socket to a worker. Its end is reported by a [`Departure`].
    ///
    /// # Errors
    /// Returns [`AttachRefused`] when too many joins are waiting; the socket in it is still open for a response.
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
        let guest = self.enter(record, Control::new(lane.is_waiting, Some(standing)));
        LogReader::new(ListenerHandle::new(guest, lane))
    }

    /// Creates the handle of a listener that another thread serves; that thread takes it over with
    /// [`ListenerHandle::serve_in`].
    pub fn handle(self: &Arc<Self>, record: ListenerRecord, lane: LaneGuard) -> ListenerHandle {
        let control = Control::new(lane.is_waiting, None);
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

    /// Removes a listener, whichever thread serves it. Waits for room in the workers' inboxes; not for asynchronous
    /// callers.
    pub fn kick(&self, id: ListenerId) {
        self.kick_all(vec![id], Handle::tell);
    }

    /// Removes the listeners whose permission has expired, without waiting. If a worker's inbox is full, a later call
    /// removes them.
    pub(crate) fn end_permissions(&self, now: Instant) {
        self.kick_all(self.directory.over(now), Handle::try_tell);
    }

    /// Removes listeners with one command for each worker, however many listeners there are.
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

    /// Announces to every listener whose protocol can express it that the server is about to leave.
    pub fn announce_leave(&self) {
        for worker in &self.workers {
            worker.tell(Command::AnnounceLeave);
        }
    }

    /// Returns a report on every listener. Blocks for a moment; not for asynchronous callers.
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

    /// Opens the books of a thread that serves listeners by itself: one set for each, for as long as the process runs.
    pub fn open_books(&self, plane: Plane) -> Arc<Books> {
        self.all_books.open(plane)
    }

    /// Returns all books: the workers' in order, the tasks', and those opened for other threads.
    pub fn books(&self) -> Vec<Arc<Books>> {
        self.all_books.list()
    }

    /// Returns the workers' books.
    pub fn worker_books(&self) -> &[Arc<Books>] {
        &self.all_books.workers
    }

    /// Returns the books of listeners that tasks serve.
    pub fn task_books(&self) -> &Arc<Books> {
        &self.all_books.tasks
    }

    /// Returns the name of the workers' back-end.
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// Returns the bytes that log pages hold now.
    pub fn log_bytes(&self) -> usize {
        self.budget.used()
    }

    /// Returns the upper bound on the bytes that log pages hold.
    pub fn log_bytes_bound(&self) -> usize {
        self.budget.bound()
    }

    /// Returns the memory pressure of the logs; from 1 on no further format of a stream is begun.
    pub fn log_pressure(&self) -> f64 {
        self.budget.level()
    }

    /// Returns the number of lanes refused so far for lack of memory for their logs.
    pub fn lanes_refused(&self) -> u64 {
        self.budget.refused()
    }

    /// Returns the number of listeners refused so far because their worker's inbox was full.
    pub fn listeners_refused(&self) -> u64 {
        self.refused.value()
    }

    /// Returns the number of current listeners, including those on their way to a worker.
    pub fn listeners(&self) -> u64 {
        let at_workers = (0..self.workers.len()).map(|worker| self.load(worker).listeners);
        at_workers.sum::<u64>() + self.all_books.listeners_elsewhere()
    }

    /// Returns the current time, for readers whose poll is not passed it.
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn reader_left(&self, departure: Departure) {
        self.controls.leave(departure.id);
        if let Err(TrySendError::Full(departure) | TrySendError::Disconnected(departure)) =
            self.departures.try_send(departure)
        {
            // Its permit under the limits must be released nevertheless.
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
