//! Observations of players over HLS, in a form that adds up over processes. Spans are in nanoseconds.

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
        /// Number of those parts that were requested before they were listed.
        pub(crate) hinted: u64,
        /// Parts and segments that the playlist says are missing.
        pub(crate) gaps: u64,
        /// Discontinuities passed.
        pub(crate) discontinuities: u64,
        /// Parts and segments given up after several refusals.
        pub(crate) skipped: u64,
        /// Number of times that a player started anew because its position was no longer listed, or not listed again yet.
        pub(crate) jumps: u64,
        /// Players that saw the end of the stream.
        pub(crate) ended: u64,
        /// Connections made again because the server had closed the last one, or broke it.
        pub(crate) reconnects: u64,
    }
}

sums! {
    /// Observations of all players.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Record {
        pub(crate) counts: Counts,
        /// Requests that failed, by kind of failure.
        pub(crate) refused: Reasons,
        /// Rules that were broken.
        pub(crate) violations: Reasons,
        /// Length of each playhead stall.
        pub(crate) stall: Histogram,
        /// Time from the first byte of the blocking response that lists a part to the part's last byte, in the window.
        pub(crate) fetch: Histogram,
        /// Time from the end of a part according to the playlist to the part's last byte, in the window.
        pub(crate) age: Histogram,
        /// Time from the sending of a part's last synthetic frame to the part's last byte, in the window.
        pub(crate) delay: Histogram,
        /// Time from the sending of the first synthetic frame after a part, which completes it, to the part's last byte, in the
        /// window.
        pub(crate) served: Histogram,
    }
}
