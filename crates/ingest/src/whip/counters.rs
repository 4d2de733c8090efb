//! Counters of publishers' packets, over all workers, for export.

use std::time::Duration;

use base::Counter;
use container::rtp;

/// Counters of all publishers, past and present. Those of a session are added each second.
#[derive(Debug, Default)]
pub struct Counters {
    /// Packets that arrived in time, repeated ones included.
    pub packets: Counter,
    /// Packets that did not arrive, and were not repeated in time.
    pub lost: Counter,
    /// Packets that arrived after they had been requested.
    pub recovered: Counter,
    /// Packets that arrived twice or too late.
    pub superfluous: Counter,
    /// Datagrams that are not packets, and packets of no track or of a layer that no packet has named yet.
    pub refused: Counter,
    /// Video frames that were incomplete, or referred to lost ones.
    pub dropped_frames: Counter,
    /// Requests for lost packets sent.
    pub nacks: Counter,
    /// Packets named in these requests.
    pub nacked: Counter,
    /// Requests for keyframes sent.
    pub plis: Counter,
    /// Sum of the jitter of each track at each report, in microseconds.
    pub jitter_micros: Counter,
    /// Number of jitter values: one per track and second.
    pub reports: Counter,
}

impl Counters {
    /// Adds the counts of a track's packets since `before`.
    pub(super) fn came(&self, before: &rtp::Counts, now: &rtp::Counts) {
        self.packets.add(now.received - before.received);
        self.lost.add(now.lost - before.lost);
        self.recovered.add(now.recovered - before.recovered);
        let useless = |counts: &rtp::Counts| counts.superfluous + counts.astray;
        self.superfluous.add(useless(now) - useless(before));
    }

    pub(super) fn nacked(&self, packets: usize) {
        self.nacks.add(1);
        self.nacked.add(packets as u64);
    }

    pub(super) fn jitter(&self, jitter: Duration) {
        let micros = u64::try_from(jitter.as_micros()).unwrap_or(u64::MAX);
        self.jitter_micros.add(micros);
        self.reports.add(1);
    }
}
