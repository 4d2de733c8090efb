//! Sums of the transcoding work, over present and past streams.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::transcode::{Monitor, PACKET, Report, Unsupported};
use base::{Counter, Lock};

/// Labels of reasons beyond those of [`Unsupported`]: the container hides the audio; a transcoder panicked.
pub(super) const CONTAINER: &str = "container";
pub(super) const BROKEN: &str = "broken";
/// Label of the reason that all permits are taken.
pub(super) const FULL: &str = "full";

/// Counters of all streams; [`sums`](Self::sums) reads them.
#[derive(Default)]
pub(super) struct Tally {
    streams: Lock<Streams>,
    refused: [Counter; Unsupported::LABELS.len() + 3],
    /// Samples that a tap has lost.
    missed: Counter,
}

#[derive(Default)]
struct Streams {
    running: BTreeMap<u64, Monitor>,
    next: u64,
    /// Counts of streams that are no longer transcoded.
    past: Counts,
}

/// Counts of the output of some streams.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: u64,
    busy: Duration,
    concealed: u64,
    dropped: u64,
}

/// Sums of the transcoding work since the start.
#[derive(Clone, Debug)]
pub struct Sums {
    /// Streams that are transcoded now.
    pub streams: usize,
    /// Playing time of the Opus produced.
    pub audio: Duration,
    /// CPU time that the threads spent on it.
    pub busy: Duration,
    /// Damaged frames that were concealed.
    pub concealed: u64,
    /// Frames left out because the threads, or the task that feeds them, fell behind.
    pub dropped: u64,
    /// Requests of listeners for Opus that did not exist, by reason.
    pub refused: Vec<(&'static str, u64)>,
}

/// Guard that counts one stream for as long as it is transcoded.
pub(super) struct TranscodingPermit {
    tally: Arc<Tally>,
    number: u64,
}

impl Tally {
    /// Counts a stream whose transcoder `monitor` reports on, until the permit is dropped.
    pub(super) fn enter(self: &Arc<Self>, monitor: Monitor) -> TranscodingPermit {
        let mut streams = self.streams.lock();
        let number = streams.next;
        streams.next += 1;
        streams.running.insert(number, monitor);
        TranscodingPermit {
            tally: Arc::clone(self),
            number,
        }
    }

    /// Counts a listener that requested Opus and received none; `label` is that of the reason.
    pub(super) fn refuse(&self, label: &str) {
        if let Some(index) = reasons().position(|reason| reason == label) {
            self.refused[index].add(1);
        }
    }

    /// Counts samples that a tap has lost.
    pub(super) fn miss(&self, samples: u64) {
        self.missed.add(samples);
    }

    pub(super) fn sums(&self) -> Sums {
        let streams = self.streams.lock();
        let mut counts = streams.past;
        for monitor in streams.running.values() {
            counts.add(&monitor.report());
        }
        let seconds = PACKET.seconds() * counts.packets as f64;
        Sums {
            streams: streams.running.len(),
            audio: Duration::from_secs_f64(seconds),
            busy: counts.busy,
            concealed: counts.concealed,
            dropped: counts.dropped + self.missed.value(),
            refused: reasons()
                .zip(&self.refused)
                .map(|(reason, count)| (reason, count.value()))
                .collect(),
        }
    }
}

impl Drop for TranscodingPermit {
    fn drop(&mut self) {
        let mut streams = self.tally.streams.lock();
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

/// Returns the label of every reason, in the order in which they are counted.
fn reasons() -> impl Iterator<Item = &'static str> {
    Unsupported::LABELS
        .into_iter()
        .chain([CONTAINER, BROKEN, FULL])
}
