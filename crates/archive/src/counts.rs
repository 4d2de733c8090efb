//! What all recordings together have done.

use base::{Counter, Labelled};

base::labels! {
    /// Why media is missing between two recordings.
    pub enum GapReason {
        /// The disk was slower than the stream for longer than memory lasts.
        Slow = "slow",
        /// The disk took nothing: it is full, or failed.
        Disk = "disk",
        /// The codecs changed where no keyframe was.
        Headers = "headers",
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Counts {
    /// Bytes written.
    pub bytes: Counter,
    /// Gaps by their reasons.
    pub gaps: Labelled<GapReason>,
}
