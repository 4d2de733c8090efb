//! What all recordings together have done.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Why media is missing between two recordings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GapReason {
    /// The disk was slower than the stream for longer than memory lasts.
    Slow,
    /// The disk took nothing: it is full, or failed.
    Disk,
    /// The codecs changed where no keyframe was.
    Headers,
}

impl GapReason {
    /// All of them, in the order of their indices.
    pub const ALL: [Self; 3] = [Self::Slow, Self::Disk, Self::Headers];

    /// The metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Disk => "disk",
            Self::Headers => "headers",
        }
    }
}

/// What all recordings have done, and how late they are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sums {
    /// Streams that are recorded now.
    pub active: usize,
    /// Bytes written.
    pub bytes: u64,
    /// Gaps by their reasons, in the order of [`GapReason::ALL`].
    pub gaps: [u64; GapReason::ALL.len()],
    /// How long ago the recording was written that was last written longest ago.
    pub lag: Duration,
}

/// The counts behind [`Sums`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    bytes: AtomicU64,
    gaps: [AtomicU64; GapReason::ALL.len()],
}

impl Counts {
    pub(crate) fn wrote(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn gap(&self, reason: GapReason) {
        self.gaps[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn gaps(&self) -> [u64; GapReason::ALL.len()] {
        self.gaps.each_ref().map(|gap| gap.load(Ordering::Relaxed))
    }
}
