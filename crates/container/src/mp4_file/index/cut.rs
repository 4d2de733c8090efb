//! Data collected from a fragmented file, as its boxes arrive.

use super::collect::Collected;
use super::fragments::Fragments;
use super::moov::TrackHead;

/// Collected segments or samples of a fragmented file.
#[derive(Debug)]
pub(super) enum Cut {
    Segments(Fragments, Vec<TrackHead>),
    Samples(Collected, Vec<TrackHead>),
}

impl Cut {
    /// Takes a `moof` that begins at `begin`.
    pub(super) fn push(&mut self, begin: u64, moof: &[u8]) {
        match self {
            Self::Segments(fragments, _) => fragments.push(begin, moof),
            Self::Samples(collected, _) => collected.push(begin, moof),
        }
    }

    /// Takes the end of an `mdat`.
    pub(super) fn end_at(&mut self, end: u64) {
        match self {
            Self::Segments(fragments, _) => fragments.end_at(end),
            Self::Samples(collected, _) => collected.end(),
        }
    }
}
