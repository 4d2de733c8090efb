//! What transcoding has done, summed over streams that are and were.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use transcode::{Monitor, PacketTime, Report, Unsupported};

/// The words for reasons beside those of [`Unsupported`]: the container hides the sound, and our own
/// fault.
pub(super) const CONTAINER: &str = "container";
pub(super) const BROKEN: &str = "broken";
/// The word for what is not impossible, but too much.
pub(super) const FULL: &str = "full";

const REASONS: usize = Unsupported::LABELS.len() + 3;

/// See the module's description.
#[derive(Default)]
pub(super) struct Tally {
    streams: Mutex<Streams>,
    refused: [AtomicU64; REASONS],
    /// Samples that went past a tap.
    missed: AtomicU64,
}

#[derive(Default)]
struct Streams {
    running: BTreeMap<u64, Monitor>,
    next: u64,
    /// Of those that have ended.
    past: Counts,
}

/// What came of some streams.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: u64,
    busy: Duration,
    concealed: u64,
    dropped: u64,
}

/// The sums of a moment.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    /// Streams that are transcoded now.
    pub(crate) streams: usize,
    /// Opus that was made.
    pub(crate) sound: Duration,
    /// What the threads spent on it.
    pub(crate) busy: Duration,
    /// Damaged frames.
    pub(crate) concealed: u64,
    /// Frames for which the threads, or the task before them, had no time.
    pub(crate) dropped: u64,
    /// How often it was impossible, by reason.
    pub(crate) refused: Vec<(&'static str, u64)>,
}

/// Counts one stream for as long as it is transcoded.
pub(super) struct TranscodingPermit {
    tally: Arc<Tally>,
    number: u64,
}

impl Tally {
    /// Counts a stream whose transcoder `monitor` tells of.
    pub(super) fn enter(self: &Arc<Self>, monitor: Monitor) -> TranscodingPermit {
        let mut streams = self.streams();
        let number = streams.next;
        streams.next += 1;
        streams.running.insert(number, monitor);
        TranscodingPermit {
            tally: Arc::clone(self),
            number,
        }
    }

    /// Notes that somebody wanted what is impossible; `label` is one of the words for reasons.
    pub(super) fn refuse(&self, label: &str) {
        if let Some(index) = reasons().position(|reason| reason == label) {
            self.refused[index].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn miss(&self, samples: u64) {
        self.missed.fetch_add(samples, Ordering::Relaxed);
    }

    pub(super) fn sums(&self, packet: PacketTime) -> Sums {
        let streams = self.streams();
        let mut counts = streams.past;
        for monitor in streams.running.values() {
            counts.add(&monitor.report());
        }
        let seconds = packet.span().seconds() * counts.packets as f64;
        Sums {
            streams: streams.running.len(),
            sound: Duration::from_secs_f64(seconds),
            busy: counts.busy,
            concealed: counts.concealed,
            dropped: counts.dropped + self.missed.load(Ordering::Relaxed),
            refused: reasons()
                .zip(&self.refused)
                .map(|(reason, count)| (reason, count.load(Ordering::Relaxed)))
                .collect(),
        }
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        // Sums are whole whenever the lock is free.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TranscodingPermit {
    fn drop(&mut self) {
        let mut streams = self.tally.streams();
        if let Some(monitor) = streams.running.remove(&self.number) {
            streams.past.add(&monitor.report());
        }
    }
}

impl Counts {
    fn add(&mut self, report: &Report) {
        self.packets += report.stats.packets;
        self.busy += report.busy;
        self.concealed += report.stats.bad_frames;
        self.dropped += report.dropped_samples;
    }
}

/// Every word for a reason, in the order in which they are counted.
fn reasons() -> impl Iterator<Item = &'static str> {
    Unsupported::LABELS
        .into_iter()
        .chain([CONTAINER, BROKEN, FULL])
}
