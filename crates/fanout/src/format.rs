//! Format of a lane, and identity of a lane.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::retention::Retention;

base::labels! {
    /// Protocol under which listeners of a lane are counted.
    pub enum Protocol {
        /// The source's own container, or elementary audio, over plain HTTP.
        Http = "http",
        /// Like `Http`, with interleaved titles.
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
    /// Whether its players begin after a number of bytes, for they know no other measure. Players of other protocols go
    /// by the times in the media, and more bytes would only make them late.
    pub(crate) const fn counts_bytes(self) -> bool {
        matches!(self, Self::Http | Self::Icy)
    }
}

/// Contents of a lane: the key under which a stream keeps it, how its listeners count, and how much of the past it
/// keeps.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Format {
    /// Unique among the formats of a stream.
    pub name: &'static str,
    /// Protocol under which its listeners are counted.
    pub protocol: Protocol,
    /// Bounds on the past that its log keeps.
    pub retention: Retention,
}

/// Identifier of a lane, unique for the life of the process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct LaneId(u64);

impl LaneId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
