//! Counts of viewers' packets, in a form that adds up.

use serde::{Deserialize, Serialize};

use super::lines::Sum;
use crate::ledger::Kind;

/// Packets of one kind of track within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flow {
    pub(crate) packets: u64,
    /// Of the sealed packets, headers included.
    pub(crate) bytes: u64,
}

/// Packets of all viewers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Packets {
    pub(crate) received: u64,
    /// Of these, those of the window: sound and picture.
    pub(crate) window_audio: Flow,
    pub(crate) window_video: Flow,
    /// Packets that repeat others, by a source of their own.
    pub(crate) repeated: u64,
    /// Runs of missing numbers, and packets missing there at the end.
    pub(crate) gaps: u64,
    pub(crate) lost: u64,
    /// Packets that arrived after a higher number.
    pub(crate) late: u64,
    /// Of viewers that are checked: packets that were not authentic.
    pub(crate) refused: u64,
    /// Packets and keyframes that they requested.
    pub(crate) nacked: u64,
    pub(crate) keyframes_asked: u64,
    /// Frames that a decoder could use, and frames that it could not.
    pub(crate) frames: u64,
    pub(crate) frames_dropped: u64,
}

impl Packets {
    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, theirs) in [
            (&mut self.received, other.received),
            (&mut self.window_audio.packets, other.window_audio.packets),
            (&mut self.window_audio.bytes, other.window_audio.bytes),
            (&mut self.window_video.packets, other.window_video.packets),
            (&mut self.window_video.bytes, other.window_video.bytes),
            (&mut self.repeated, other.repeated),
            (&mut self.gaps, other.gaps),
            (&mut self.lost, other.lost),
            (&mut self.late, other.late),
            (&mut self.refused, other.refused),
            (&mut self.nacked, other.nacked),
            (&mut self.keyframes_asked, other.keyframes_asked),
            (&mut self.frames, other.frames),
            (&mut self.frames_dropped, other.frames_dropped),
        ] {
            *own += theirs;
        }
    }

    /// A packet came within the window.
    pub(super) fn enter(&mut self, kind: Kind, bytes: usize) {
        let flow = match kind {
            Kind::Audio => &mut self.window_audio,
            Kind::Video => &mut self.window_video,
        };
        flow.packets += 1;
        flow.bytes += bytes as u64;
    }

    /// Adds what a leaving viewer received.
    pub(super) fn enter_sum(&mut self, sum: Sum) {
        self.received += sum.received;
        self.repeated += sum.repeated;
        self.gaps += sum.gaps;
        self.lost += sum.lost;
        self.late += sum.late;
    }
}
