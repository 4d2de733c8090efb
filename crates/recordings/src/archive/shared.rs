//! State shared by the recorder's threads.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use crate::{Recording, RecordingId, Shelf};
use base::Lock;
use media::StreamName;

use crate::archive::Settings;
use crate::archive::counts::{Counts, GapReason};
use crate::archive::disk::Disk;
use crate::archive::event::{Event, Tell};
use crate::archive::jobs::Job;

/// Settings, shelf, disk and counters of all threads.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) counts: Counts,
    pub(crate) jobs: SyncSender<Job>,
    tell: Tell,
    /// Streams being recorded.
    pub(crate) active: Lock<HashMap<StreamName, Active>>,
    began: Instant,
    is_finishing: AtomicBool,
    /// Number of threads that have not ended.
    pub(crate) running: AtomicUsize,
}

/// Ongoing recording.
pub(crate) struct Active {
    /// Index of the thread that writes it.
    pub(crate) writer: usize,
    /// Time of the last visit, in milliseconds since the archive began.
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

    /// Converts a time to milliseconds since the archive began.
    pub(crate) fn millis(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.began);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether the server is about to end.
    pub(crate) fn is_finishing(&self) -> bool {
        self.is_finishing.load(Ordering::Relaxed)
    }

    /// Marks that the server ends.
    pub(crate) fn finish(&self) {
        self.is_finishing.store(true, Ordering::Relaxed);
    }

    /// Sends an event.
    pub(crate) fn tell(&self, event: Event) {
        (self.tell)(event);
    }

    /// Sends an event about a recording, if it is on the shelf.
    pub(crate) fn tell_of(&self, id: RecordingId, event: fn(Arc<Recording>) -> Event) {
        if let Some(recording) = self.shelf.get(id) {
            self.tell(event(recording));
        }
    }

    /// Counts and reports a gap.
    pub(crate) fn gap(&self, stream: &StreamName, reason: GapReason, seconds: Option<f64>) {
        self.counts.gaps.count(reason);
        self.tell(Event::Gap {
            stream: stream.clone(),
            reason,
            seconds,
        });
    }

    /// Reports that a stream cannot be recorded, or one of its files cannot be closed.
    pub(crate) fn failed(&self, stream: &StreamName, error: &dyn std::fmt::Display) {
        self.tell(Event::Failed {
            stream: stream.clone(),
            error: error.to_string(),
        });
    }

    /// Removes a stream from those being recorded.
    pub(crate) fn forget(&self, stream: &StreamName) {
        self.active.lock().remove(stream);
    }
}
