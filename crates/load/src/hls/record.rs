//! What players over HLS saw, in a form that adds up over processes. Spans are in nanoseconds.

use serde::{Deserialize, Serialize};

use super::flaw::Flaw;
use crate::histogram::Histogram;
use crate::tally::Reasons;

/// Counts of all players.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Requests made in the window.
    pub(crate) requests: u64,
    /// Media playlists, deltas included.
    pub(crate) playlists: u64,
    pub(crate) deltas: u64,
    /// Of all playlists.
    pub(crate) playlist_bytes: u64,
    pub(crate) maps: u64,
    pub(crate) segments: u64,
    /// Parts, hinted ones included.
    pub(crate) parts: u64,
    /// Parts that were requested before they were listed.
    pub(crate) hinted: u64,
    /// Pieces that the playlist says are missing.
    pub(crate) gaps: u64,
    pub(crate) discontinuities: u64,
    /// Pieces given up after several refusals.
    pub(crate) skipped: u64,
    /// Times that a player's position was listed no more, or not yet again, so that it started anew.
    pub(crate) jumps: u64,
    /// Players that saw the end of the stream.
    pub(crate) ended: u64,
    /// Connections that were made again because the server had closed the last one, or broke it.
    pub(crate) reconnects: u64,
    /// Requests that failed, and how.
    pub(crate) refused: Reasons,
    /// Rules that were broken.
    pub(crate) violations: Reasons,
    /// Each time that a playhead stood still.
    pub(crate) stall: Histogram,
    /// From the first byte of the blocking answer that lists a part to the part's last byte, in the window.
    pub(crate) fetch: Histogram,
    /// From the moment that the playlist gives for a part's end to the part's last byte, in the window.
    pub(crate) age: Histogram,
    /// From the sending of a part's last synthetic frame to the part's last byte, in the window.
    pub(crate) delay: Histogram,
    /// From the sending of the first synthetic frame after a part, which completes it, to the part's last byte, in
    /// the window.
    pub(crate) served: Histogram,
}

impl Record {
    pub(crate) fn merge(&mut self, other: Self) {
        for (own, theirs) in [
            (&mut self.requests, other.requests),
            (&mut self.playlists, other.playlists),
            (&mut self.deltas, other.deltas),
            (&mut self.playlist_bytes, other.playlist_bytes),
            (&mut self.maps, other.maps),
            (&mut self.segments, other.segments),
            (&mut self.parts, other.parts),
            (&mut self.hinted, other.hinted),
            (&mut self.gaps, other.gaps),
            (&mut self.discontinuities, other.discontinuities),
            (&mut self.skipped, other.skipped),
            (&mut self.jumps, other.jumps),
            (&mut self.ended, other.ended),
            (&mut self.reconnects, other.reconnects),
        ] {
            *own += theirs;
        }
        self.refused.merge(other.refused);
        self.violations.merge(other.violations);
        self.stall.merge(&other.stall);
        self.fetch.merge(&other.fetch);
        self.age.merge(&other.age);
        self.delay.merge(&other.delay);
        self.served.merge(&other.served);
    }

    pub(super) fn enter_flaw(&mut self, flaw: Flaw) {
        self.violations.count(&flaw);
    }

    pub(super) fn enter_stall(&mut self, length: u64) {
        self.stall.record(length);
    }
}
