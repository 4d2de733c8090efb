//! Counts of viewers' packets, in a form that adds up.

use media::Kind;
use serde::{Deserialize, Serialize};

use crate::sums::sums;

sums! {
    /// Packets of one kind of track within the window.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Flow {
        pub(crate) packets: u64,
        /// Bytes of the sealed packets, headers included.
        pub(crate) bytes: u64,
    }
}

sums! {
    /// Packets of all viewers.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Packets {
        pub(crate) received: u64,
        /// Audio and video packets within the window.
        pub(crate) window_audio: Flow,
        pub(crate) window_video: Flow,
        /// Packets that repeat others, sent by a source of their own.
        pub(crate) repeated: u64,
        /// Runs of missing numbers, and packets still missing there at the end.
        pub(crate) gaps: u64,
        pub(crate) lost: u64,
        /// Packets that arrived after a higher number.
        pub(crate) late: u64,
        /// For checked viewers: packets that were not authentic.
        pub(crate) refused: u64,
        /// Packets and keyframes that checked viewers requested.
        pub(crate) nacked: u64,
        pub(crate) keyframes_asked: u64,
        /// Frames that a decoder could use, and frames that it could not.
        pub(crate) frames: u64,
        pub(crate) frames_dropped: u64,
    }
}

impl Packets {
    /// Records a packet within the window.
    pub(super) fn enter(&mut self, kind: Kind, bytes: usize) {
        let flow = match kind {
            Kind::Audio => &mut self.window_audio,
            Kind::Video => &mut self.window_video,
        };
        flow.packets += 1;
        flow.bytes += bytes as u64;
    }
}
