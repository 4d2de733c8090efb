//! Which streams are recorded, and the threads that do it.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use base::Lock;
use fanout::gate::{Authorized, Play};
use fanout::{Registry, Stream};
use media::StreamName;
use recordings::{RecordingId, Shelf};

use crate::Settings;
use crate::choice;
use crate::counts::Counts;
use crate::disk::Files;
use crate::event::Tell;
use crate::jobs::{self, JOBS_MAX, Job};
use crate::pin::pin;
use crate::recorder::Recorder;
use crate::removal;
use crate::shared::{Active, Shared};
use crate::snapshot::Snapshots;
use crate::turn::{self, ORDERS_MAX, Order};

/// Threads that write. A disk is no faster for more, and of several disks one that hangs need not stop the others.
const WRITERS: usize = 2;

/// How often everything written is written down: what a loss of power costs at most, and some seconds. A single call
/// for all files costs less than one for each.
const SYNC_INTERVAL: Duration = Duration::from_secs(10);

/// Streams for which the operator's word is remembered at most: more than there are.
const WISHES_MAX: usize = 10_000;

/// Makes permissions for the server's own readers.
pub type Permit = Box<dyn Fn(&StreamName) -> Authorized<Play> + Send + Sync>;

/// Why something cannot be done to a recording.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// There is none, or the stream is not there.
    Unknown,
    /// The stream's recording is under way.
    Open,
    /// There is no rule for a stream that is recorded because the operator says so.
    NoRule,
    /// It is not recorded.
    NotRecorded,
    /// The threads that write have too much to do.
    Busy,
    /// The disk does not keep what is to be said of it, or does not let it go.
    Disk,
}

/// The recorder of all streams.
pub struct Archive {
    shared: Arc<Shared>,
    writers: Vec<SyncSender<Order>>,
    /// Ends the thread that syncs, by going.
    syncer: Lock<Option<SyncSender<()>>>,
    /// What the operator has said of streams, while they are there: to be recorded, or not.
    wishes: Lock<HashMap<StreamName, bool>>,
    permit: Permit,
}

impl Archive {
    /// Begins its threads. Recordings of an earlier run appear on the shelf by and by.
    ///
    /// # Errors
    /// When a thread cannot be made.
    pub fn start(
        settings: Settings,
        shelf: Arc<Shelf>,
        permit: Permit,
        tell: Tell,
    ) -> io::Result<Self> {
        let disk = Arc::new(Files);
        let (jobs, work) = mpsc::sync_channel(JOBS_MAX);
        let shared = Arc::new(Shared::new(disk, settings, shelf, jobs, tell));
        spawn("record-jobs", &shared, move |shared| {
            jobs::run(shared, &work);
        })?;
        let mut writers = Vec::new();
        for number in 0..WRITERS {
            let (orders, told) = mpsc::sync_channel(ORDERS_MAX);
            spawn(&format!("record-{number}"), &shared, move |shared| {
                turn::run(shared, &told);
            })?;
            writers.push(orders);
        }
        let (syncer, end) = mpsc::sync_channel(0);
        spawn("record-sync", &shared, move |shared| sync(shared, &end))?;
        Ok(Self {
            shared,
            writers,
            syncer: Lock::new(Some(syncer)),
            wishes: Lock::default(),
            permit,
        })
    }

    /// The recordings.
    pub fn shelf(&self) -> &Arc<Shelf> {
        &self.shared.shelf
    }

    /// What all recordings have done.
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// Streams that are recorded now.
    pub fn active(&self) -> usize {
        self.shared.active.lock().len()
    }

    /// How long ago the recording was written that was last written longest ago.
    pub fn lag(&self) -> Duration {
        let now = self.shared.millis(Instant::now());
        let active = self.shared.active.lock();
        let visited = active.values();
        let oldest = visited.map(|one| one.visited.load(Ordering::Relaxed)).min();
        Duration::from_millis(oldest.map_or(0, |oldest| now.saturating_sub(oldest)))
    }

    /// Begins a recorder for each live stream that is to be recorded and is not yet. To be called a few times a second;
    /// it waits for no disk.
    pub fn look(&self, registry: &Registry) {
        let streams = registry.list();
        self.wishes.lock().retain(|name, _| {
            let mut names = streams.iter().map(|stream| stream.name());
            names.any(|stream| stream == name)
        });
        // Nearly all are recorded already, and rules take longer than a look at what is.
        let mut others = streams;
        {
            let active = self.shared.active.lock();
            others.retain(|stream| !active.contains_key(stream.name()));
        }
        for stream in others {
            let name = stream.name();
            let wish = self.wishes.lock().get(name).copied();
            let rule = match wish {
                Some(false) => None,
                Some(true) => self.shared.settings.rule_of(name),
                None => (self.shared.settings.records)(name),
            };
            if let Some(rule) = rule {
                self.begin(&stream, rule);
            }
        }
    }

    fn begin(&self, stream: &Arc<Stream>, rule: usize) {
        let now = Instant::now();
        let permission = (self.permit)(stream.name());
        let becomes = self.shared.settings.rules[rule].becomes;
        let Some(opened) = choice::open(stream, &permission, becomes, now) else {
            return;
        };
        let visited = Arc::new(AtomicU64::new(self.shared.millis(now)));
        let recorder = Recorder::new(
            Arc::clone(stream),
            opened,
            Snapshots::new(permission),
            rule,
            Arc::clone(&visited),
            now,
        );
        let mut active = self.shared.active.lock();
        let load = |writer: usize| active.values().filter(|one| one.writer == writer).count();
        let writer = (0..self.writers.len()).min_by_key(|writer| load(*writer));
        let Some(writer) = writer else {
            return;
        };
        let order = Order::Begin(Box::new(recorder));
        if self.writers[writer].try_send(order).is_ok() {
            active.insert(stream.name().clone(), Active { writer, visited });
        }
    }

    /// Has a stream recorded that is here, whatever the rules say, until it ends.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn begin_recording(&self, stream: &Stream) -> Result<(), Refused> {
        let rule = self.shared.settings.rule_of(stream.name());
        rule.ok_or(Refused::NoRule)?;
        self.wish(stream, true)
    }

    /// Ends a stream's recording; it is not recorded again before it has ended and begun anew, or the operator says so.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn end_recording(&self, stream: &Stream) -> Result<(), Refused> {
        self.wish(stream, false)?;
        match self.tell(stream.name(), Order::Stop(stream.name().clone())) {
            Err(Refused::NotRecorded) | Ok(()) => Ok(()),
            busy => busy,
        }
    }

    /// Has a stream's recording go on in another file from its next keyframe on.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn split_recording(&self, stream: &Stream) -> Result<(), Refused> {
        self.tell(stream.name(), Order::Split(stream.name().clone()))
    }

    /// Removes a recording that is closed. It blocks as long as the disk does.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn remove(&self, id: RecordingId) -> Result<(), Refused> {
        removal::remove(&self.shared, id)
    }

    /// Says that no rule removes a recording, or that rules do again. It is written down with the file, so it blocks as
    /// long as the disk does.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn pin(&self, id: RecordingId, is_pinned: bool) -> Result<(), Refused> {
        let shelf = &self.shared.shelf;
        // A file that is closed meanwhile has another name.
        for _ in 0..2 {
            let recording = shelf.get(id).ok_or(Refused::Unknown)?;
            match pin(&recording.path, is_pinned) {
                Ok(()) => {
                    shelf.update(id, |recording| recording.is_pinned = is_pinned);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let path = recording.path.display();
                    tracing::warn!(%path, %error, "a recording cannot be pinned");
                    return Err(Refused::Disk);
                }
            }
        }
        Err(Refused::Unknown)
    }

    /// Closes all recordings and ends the threads. It waits for nothing: a disk may hang for ever. See
    /// [`has_finished`](Self::has_finished).
    pub fn finish(&self) {
        self.shared.finish();
        self.syncer.lock().take();
        for writer in &self.writers {
            if let Err(TrySendError::Full(_)) = writer.try_send(Order::Finish) {
                tracing::warn!("recordings are closed when the server starts again");
            }
        }
    }

    /// Whether all threads have ended since [`finish`](Self::finish).
    pub fn has_finished(&self) -> bool {
        let running = self.shared.running.load(Ordering::Acquire);
        // The jobs are the last: they end once nothing can be closed any more.
        if running == 1 {
            self.shared.jobs.try_send(Job::Finish).ok();
        }
        running == 0
    }

    fn wish(&self, stream: &Stream, is_recorded: bool) -> Result<(), Refused> {
        let mut wishes = self.wishes.lock();
        if wishes.len() >= WISHES_MAX && !wishes.contains_key(stream.name()) {
            return Err(Refused::Busy);
        }
        wishes.insert(stream.name().clone(), is_recorded);
        Ok(())
    }

    fn tell(&self, stream: &StreamName, order: Order) -> Result<(), Refused> {
        let writer = self.shared.active.lock().get(stream).map(|one| one.writer);
        let writer = writer.ok_or(Refused::NotRecorded)?;
        let told = self.writers[writer].try_send(order);
        told.map_err(|_| Refused::Busy)
    }
}

base::debug!(Archive as it { settings: it.shared.settings });

/// Writes everything down, now and then, while something is recorded.
fn sync(shared: &Shared, end: &Receiver<()>) {
    let mut synced = 0;
    while end.recv_timeout(SYNC_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        synced = sync_since(shared, synced);
    }
}

/// Writes everything down unless no more than `synced` bytes were ever recorded; returns how many are by now.
pub(crate) fn sync_since(shared: &Shared, synced: u64) -> u64 {
    let written = shared.counts.bytes.value();
    if written == synced {
        return synced;
    }
    for directory in shared.settings.directories() {
        if let Err(error) = shared.disk.sync_all(&directory)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::error!(directory = %directory.display(), %error, "recordings cannot be written down");
        }
    }
    written
}

/// A thread that nothing waits for: it may hang on its disk.
fn spawn(
    name: &str,
    shared: &Arc<Shared>,
    run: impl FnOnce(&Shared) + Send + 'static,
) -> io::Result<()> {
    let shared = Arc::clone(shared);
    shared.running.fetch_add(1, Ordering::Relaxed);
    let leaving = Leaving(Arc::clone(&shared));
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(move || {
        let leaving = leaving;
        run(&leaving.0);
    })?;
    Ok(())
}

/// Counts a thread until it has ended, by a panic as well.
struct Leaving(Arc<Shared>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Release);
    }
}
