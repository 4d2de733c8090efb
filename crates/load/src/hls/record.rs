//! What players over HLS saw, in a form that adds up over processes. Spans are in nanoseconds.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::sums::sums;
use crate::tally::Reasons;

sums! {
    /// Counts of all players.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Counts {
        /// Requests made in the window, of all players.
        pub(crate) requests: u64,
        /// Media playlists fetched, deltas included.
        pub(crate) playlists: u64,
        /// Playlists that left out what the player knew.
        pub(crate) deltas: u64,
        /// Bytes of all playlists.
        pub(crate) playlist_bytes: u64,
        /// Initialization segments fetched.
        pub(crate) maps: u64,
        /// Whole segments fetched.
        pub(crate) segments: u64,
        /// Parts fetched, hinted ones included.
        pub(crate) parts: u64,
        /// Of these, requested before they were listed.
        pub(crate) hinted: u64,
        /// Parts and segments that the playlist says are missing.
        pub(crate) gaps: u64,
        /// Discontinuities passed.
        pub(crate) discontinuities: u64,
        /// Parts and segments given up after several refusals.
        pub(crate) skipped: u64,
        /// Times that a player's position was listed no more, or not yet again, so that it started anew.
        pub(crate) jumps: u64,
        /// Players that saw the end of the stream.
        pub(crate) ended: u64,
        /// Connections made again because the server had closed the last one, or broke it.
        pub(crate) reconnects: u64,
    }
}

sums! {
    /// What all players saw.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Record {
        pub(crate) counts: Counts,
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
}
