//! What the recorder's threads share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use base::Lock;
use media::StreamName;
use recordings::{Recording, RecordingId, Shelf};

use crate::Settings;
use crate::counts::{Counts, GapReason};
use crate::disk::Disk;
use crate::event::{Event, Tell};
use crate::jobs::Job;

/// See the module's description.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) counts: Counts,
    pub(crate) jobs: SyncSender<Job>,
    tell: Tell,
    /// The streams that are recorded now.
    pub(crate) active: Lock<HashMap<StreamName, Active>>,
    began: Instant,
    is_finishing: AtomicBool,
    /// Threads that have yet to end.
    pub(crate) running: AtomicUsize,
}

/// A recording under way.
pub(crate) struct Active {
    /// The thread that writes it.
    pub(crate) writer: usize,
    /// When it was last written, in milliseconds since the archive began.
    pub(crate) visited: Arc<AtomicU64>,
}

impl Shared {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        settings: Settings,
        shelf: Arc<Shelf>,
        jobs: SyncSender<Job>,
        tell: Tell,
    ) -> Self {
        Self {
            settings,
            shelf,
            disk,
            counts: Counts::default(),
            jobs,
            tell,
            active: Lock::default(),
            began: Instant::now(),
            is_finishing: AtomicBool::new(false),
            running: AtomicUsize::new(0),
        }
    }

    /// A time in milliseconds since the archive began.
    pub(crate) fn millis(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.began);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// The server is about to end.
    pub(crate) fn is_finishing(&self) -> bool {
        self.is_finishing.load(Ordering::Relaxed)
    }

    /// The server ends.
    pub(crate) fn finish(&self) {
        self.is_finishing.store(true, Ordering::Relaxed);
    }

    /// Tells what has happened.
    pub(crate) fn tell(&self, event: Event) {
        (self.tell)(event);
    }

    /// Tells what has become of a recording, if it is on the shelf.
    pub(crate) fn tell_of(&self, id: RecordingId, event: fn(Arc<Recording>) -> Event) {
        if let Some(recording) = self.shelf.get(id) {
            self.tell(event(recording));
        }
    }

    /// Counts a gap, and tells of it.
    pub(crate) fn gap(&self, stream: &StreamName, reason: GapReason, seconds: Option<f64>) {
        self.counts.gaps.count(reason);
        self.tell(Event::Gap {
            stream: stream.clone(),
            reason,
            seconds,
        });
    }

    /// Tells that a stream cannot be recorded, or a file of it not be closed.
    pub(crate) fn failed(&self, stream: &StreamName, error: &dyn std::fmt::Display) {
        self.tell(Event::Failed {
            stream: stream.clone(),
            error: error.to_string(),
        });
    }

    /// A stream is recorded no more.
    pub(crate) fn forget(&self, stream: &StreamName) {
        self.active.lock().remove(stream);
    }
}
