//! What became of publishers' packets, over all workers, for export.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use container::rtp;

/// Counts of all publishers, past and present. Those of a session are added each second.
#[derive(Debug, Default)]
pub struct Counters {
    packets: AtomicU64,
    lost: AtomicU64,
    recovered: AtomicU64,
    superfluous: AtomicU64,
    refused: AtomicU64,
    dropped_frames: AtomicU64,
    nacks: AtomicU64,
    nacked: AtomicU64,
    plis: AtomicU64,
    jitter_micros: AtomicU64,
    reports: AtomicU64,
}

/// [`Counters`] at one moment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Packets that arrived in time, repeated ones included.
    pub packets: u64,
    /// Packets that did not arrive, and were not repeated in time.
    pub lost: u64,
    /// Packets that arrived after they had been requested.
    pub recovered: u64,
    /// Packets that arrived twice or too late.
    pub superfluous: u64,
    /// Datagrams that are no packets, and packets of no track or of a layer that none has named yet.
    pub refused: u64,
    /// Pictures that were not whole, or referred to lost ones.
    pub dropped_frames: u64,
    /// Requests for lost packets sent.
    pub nacks: u64,
    /// Packets that they named.
    pub nacked: u64,
    /// Requests for keyframes sent.
    pub plis: u64,
    /// The jitter of each track at each report, added up.
    pub jitter: Duration,
    /// The number of these values: one for each track and second.
    pub reports: u64,
}

impl Counters {
    /// The counts now.
    pub fn counts(&self) -> Counts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            packets: load(&self.packets),
            lost: load(&self.lost),
            recovered: load(&self.recovered),
            superfluous: load(&self.superfluous),
            refused: load(&self.refused),
            dropped_frames: load(&self.dropped_frames),
            nacks: load(&self.nacks),
            nacked: load(&self.nacked),
            plis: load(&self.plis),
            jitter: Duration::from_micros(load(&self.jitter_micros)),
            reports: load(&self.reports),
        }
    }

    /// Adds what became of a track's packets since `before`.
    pub(super) fn came(&self, before: &rtp::Counts, now: &rtp::Counts) {
        add(&self.packets, now.received - before.received);
        add(&self.lost, now.lost - before.lost);
        add(&self.recovered, now.recovered - before.recovered);
        let useless = |counts: &rtp::Counts| counts.superfluous + counts.astray;
        add(&self.superfluous, useless(now) - useless(before));
    }

    pub(super) fn refused(&self) {
        add(&self.refused, 1);
    }

    pub(super) fn dropped(&self, frames: u64) {
        add(&self.dropped_frames, frames);
    }

    pub(super) fn nacked(&self, packets: usize) {
        add(&self.nacks, 1);
        add(&self.nacked, packets as u64);
    }

    pub(super) fn pli(&self) {
        add(&self.plis, 1);
    }

    pub(super) fn jitter(&self, jitter: Duration) {
        let micros = u64::try_from(jitter.as_micros()).unwrap_or(u64::MAX);
        add(&self.jitter_micros, micros);
        add(&self.reports, 1);
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}
