//! Counters over all recordings.

use base::{Counter, Labelled};

base::labels! {
    /// Reason of a gap between two recordings.
    pub enum GapReason {
        /// The disk was slower than the stream for longer than memory lasts.
        Slow = "slow",
        /// The disk accepted nothing: it is full, or failed.
        Disk = "disk",
        /// The codecs changed without a keyframe.
        Headers = "headers",
    }
}

/// Totals over all recordings.
#[derive(Debug, Default)]
pub struct Counts {
    /// Bytes written.
    pub bytes: Counter,
    /// Gaps by reason.
    pub gaps: Labelled<GapReason>,
}
