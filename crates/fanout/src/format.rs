//! What a lane carries, and what names it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::retention::Retention;

base::labels! {
    /// How listeners of a lane are counted.
    pub enum Protocol {
        /// The source's own container, or elementary audio, over plain HTTP.
        Http = "http",
        /// The same with interleaved titles.
        Icy = "icy",
        /// FLV over HTTP.
        Flv = "flv",
        /// RTMP, players and other servers alike.
        Rtmp = "rtmp",
        /// WebRTC, whatever the player.
        Webrtc = "webrtc",
        /// HLS: playlists and pieces over HTTP.
        Hls = "hls",
        /// FLV or MP4 in the messages of a WebSocket. No lane has it: its listeners follow those of HTTP.
        Websocket = "ws",
    }
}

impl Protocol {
    /// Whether its players begin when they have some bytes, for they know no other measure. Those of the others go by the
    /// times in what they are sent, and would only be late.
    pub(crate) const fn counts_bytes(self) -> bool {
        matches!(self, Self::Http | Self::Icy)
    }
}

/// What a lane carries: the key under which a stream keeps it, how its listeners count, and how much
/// of the past it keeps.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Format {
    /// Unique among the formats of a stream.
    pub name: &'static str,
    /// How its listeners are counted.
    pub protocol: Protocol,
    /// How much of the past its log keeps.
    pub retention: Retention,
}

/// Names a lane for the life of the process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct LaneId(u64);

impl LaneId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
