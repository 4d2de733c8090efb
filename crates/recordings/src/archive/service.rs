//! Recording control: decides which streams are recorded, and owns the recorder's threads.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use crate::{RecordingId, Shelf};
use base::Lock;
use fanout::gate::{Authorized, Play};
use fanout::{Registry, Stream};
use media::StreamName;

use crate::archive::Settings;
use crate::archive::choice;
use crate::archive::counts::Counts;
use crate::archive::disk::Files;
use crate::archive::event::Tell;
use crate::archive::jobs::{self, JOBS_MAX, Job};
use crate::archive::pin::pin;
use crate::archive::recorder::Recorder;
use crate::archive::removal;
use crate::archive::shared::{Active, Shared};
use crate::archive::snapshot::Snapshots;
use crate::archive::turn::{self, ORDERS_MAX, Order};

/// Writing threads. More do not make a disk faster, and with two a hanging disk need not stop another.
const WRITERS: usize = 2;

/// Interval of syncing written data to the disk. A power loss costs at most this, plus some seconds. One call for all files
/// costs less than one for each.
const SYNC_INTERVAL: Duration = Duration::from_secs(10);

/// Most streams for which an operator's decision is remembered: more than exist.
const WISHES_MAX: usize = 10_000;

/// Callback that makes permissions for the server's own readers.
pub type Permit = Box<dyn Fn(&StreamName) -> Authorized<Play> + Send + Sync>;

/// Reason why a recording cannot be changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// The recording or stream does not exist.
    Unknown,
    /// The recording is still open.
    Open,
    /// No rule applies to streams recorded on the operator's request.
    NoRule,
    /// The stream is not being recorded.
    NotRecorded,
    /// The writing threads have too much to do.
    Busy,
    /// The disk does not store the change, or does not remove the file.
    Disk,
}

/// Recorder of all streams. Call [`look`](Self::look) a few times a second, and [`finish`](Self::finish) at the end.
pub struct Archive {
    shared: Arc<Shared>,
    writers: Vec<SyncSender<Order>>,
    /// Sender whose drop ends the syncing thread.
    syncer: Lock<Option<SyncSender<()>>>,
    /// The operator's decisions for present streams: true to record, false not to.
    wishes: Lock<HashMap<StreamName, bool>>,
    permit: Permit,
}

impl Archive {
    /// Starts the threads. Recordings of an earlier run appear on the shelf gradually.
    ///
    /// # Errors
    /// Fails when a thread cannot be started.
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
            let (orders, reported) = mpsc::sync_channel(ORDERS_MAX);
            spawn(&format!("record-{number}"), &shared, move |shared| {
                turn::run(shared, &reported);
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

    /// Returns the shelf of recordings.
    pub fn shelf(&self) -> &Arc<Shelf> {
        &self.shared.shelf
    }

    /// Returns the totals over all recordings.
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// Returns the number of streams being recorded.
    pub fn active(&self) -> usize {
        self.shared.active.lock().len()
    }

    /// Returns the time since the least recently written recording was written.
    pub fn lag(&self) -> Duration {
        let now = self.shared.millis(Instant::now());
        let active = self.shared.active.lock();
        let visited = active.values();
        let oldest = visited.map(|one| one.visited.load(Ordering::Relaxed)).min();
        Duration::from_millis(oldest.map_or(0, |oldest| now.saturating_sub(oldest)))
    }

    /// Starts a recorder for each live stream that should be recorded and is not yet. Call it a few times a second; it never
    /// waits for a disk.
    pub fn look(&self, registry: &Registry) {
        let streams = registry.list();
        self.wishes.lock().retain(|name, _| {
            let mut names = streams.iter().map(|stream| stream.name());
            names.any(|stream| stream == name)
        });
        // Nearly all are recorded already, and evaluating rules takes longer than this check.
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

    /// Records a live stream until it ends, whatever the rules say.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn begin_recording(&self, stream: &Stream) -> Result<(), Refused> {
        let rule = self.shared.settings.rule_of(stream.name());
        rule.ok_or(Refused::NoRule)?;
        self.wish(stream, true)
    }

    /// Ends a stream's recording. It is not recorded again until the stream has ended and started anew, or the operator
    /// requests it.
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

    /// Continues a stream's recording in a new file from its next keyframe on.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn split_recording(&self, stream: &Stream) -> Result<(), Refused> {
        self.tell(stream.name(), Order::Split(stream.name().clone()))
    }

    /// Removes a closed recording. Blocks for as long as the disk does.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn remove(&self, id: RecordingId) -> Result<(), Refused> {
        removal::remove(&self.shared, id)
    }

    /// Protects a recording from removal by rules, or lifts that protection. The mark is stored with the file, so this blocks
    /// for as long as the disk does.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn pin(&self, id: RecordingId, is_pinned: bool) -> Result<(), Refused> {
        let shelf = &self.shared.shelf;
        // A file that is closed meanwhile gets another name.
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

    /// Orders the threads to close all recordings and end. Does not wait, because a disk may hang for ever; see
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

    /// Returns whether all threads have ended since [`finish`](Self::finish).
    pub fn has_finished(&self) -> bool {
        let running = self.shared.running.load(Ordering::Acquire);
        // The job thread ends last, once nothing can be closed any more.
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
        let reported = self.writers[writer].try_send(order);
        reported.map_err(|_| Refused::Busy)
    }
}

base::debug!(Archive as it { settings: it.shared.settings });

/// Syncs the disks periodically while something is recorded.
fn sync(shared: &Shared, end: &Receiver<()>) {
    let mut synced = 0;
    while end.recv_timeout(SYNC_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        synced = sync_since(shared, synced);
    }
}

/// Syncs the disks if more than `synced` bytes were recorded since the start; returns the number by now.
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

/// Starts a thread that is never joined, because it may hang on its disk.
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

/// Guard that counts a thread as running until it has ended, by a panic as well.
struct Leaving(Arc<Shared>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Release);
    }
}
