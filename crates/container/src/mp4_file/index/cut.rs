//! What is read of a fragmented file, as its boxes come.

use super::collect::Collected;
use super::fragments::Fragments;
use super::moov::TrackHead;

/// See the module's description.
#[derive(Debug)]
pub(super) enum Cut {
    Segments(Fragments, Vec<TrackHead>),
    Samples(Collected, Vec<TrackHead>),
}

impl Cut {
    /// A `moof` that begins there.
    pub(super) fn push(&mut self, begin: u64, moof: &[u8]) {
        match self {
            Self::Segments(fragments, _) => fragments.push(begin, moof),
            Self::Samples(collected, _) => collected.push(begin, moof),
        }
    }

    /// An `mdat` ends there.
    pub(super) fn end_at(&mut self, end: u64) {
        match self {
            Self::Segments(fragments, _) => fragments.end_at(end),
            Self::Samples(collected, _) => collected.end(),
        }
    }
}
