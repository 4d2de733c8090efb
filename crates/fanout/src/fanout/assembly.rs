//! Assembly, start and stop of a set of workers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::SystemTime;

use base::{Counter, Lock};
use log::Budget;
use net::Backend;

use super::all_books::AllBooks;
use super::controls::Controls;
use super::{Config, Fanout};
use crate::books::{Books, Plane};
use crate::checkup::Checkups;
use crate::clock::Clock;
use crate::directory::Directory;
use crate::events::{Conditions, Events};
use crate::listener::Departure;
use crate::placement::Placement;
use crate::worker::{Command, Handle, INBOX_MAX, Links, Worker, WorkerWaker};

/// Upper bound on departures that wait to be read. Workers keep those that do not fit, so none is lost to a slow
/// reader.
const DEPARTURES_MAX: usize = 16 * 1024;

impl Fanout {
    /// Starts the workers, each with a back-end from `backend`. Departures of listeners are sent to the receiver, which
    /// the caller must read.
    ///
    /// # Errors
    /// Fails when a back-end or a thread cannot be created.
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

    /// Creates a set of workers without threads.
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
        let mut wakers = Vec::new();
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
                conditions: conditions.sender.clone(),
            };
            workers.push(Worker::new(
                index,
                config.target_utilisation,
                backend,
                links,
                now,
            ));
            wakers.push(waker.clone());
            handles.push(Handle::new(inbox, waker));
            books.push(own);
        }
        let fanout = Self {
            placement: Placement::new(handles.len(), now),
            refused: Counter::default(),
            workers: handles,
            backend: backend_name,
            target_utilisation: config.target_utilisation,
            wakers: wakers.into(),
            budget: Arc::new(Budget::new(config.log_bytes_max)),
            next_id: AtomicU64::new(1),
            directory: Directory::new(Arc::clone(&events)),
            events,
            conditions,
            controls: Controls::default(),
            all_books: AllBooks::new(books),
            readers_now: Counter::default(),
            checkups: Checkups::default(),
            departures,
            threads: Lock::default(),
            clock,
            started: now,
        };
        Ok((fanout, workers, departed))
    }

    /// Stops the workers and closes their listeners.
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
}
