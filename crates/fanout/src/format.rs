//! What a lane carries, and what names it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::retention::Retention;

/// How listeners of a lane are counted.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Protocol {
    /// The source's own container, or elementary audio, over plain HTTP.
    Http,
    /// The same with interleaved titles.
    Icy,
    /// FLV over HTTP.
    Flv,
    /// RTMP, players and other servers alike.
    Rtmp,
    /// WebRTC, whatever the player.
    Webrtc,
    /// HLS: playlists and pieces over HTTP.
    Hls,
    /// FLV or MP4 in the messages of a WebSocket. No lane has it: its listeners follow those of HTTP.
    Websocket,
}

impl Protocol {
    /// Every protocol, in the order of their indices.
    pub const ALL: [Self; 7] = [
        Self::Http,
        Self::Icy,
        Self::Flv,
        Self::Rtmp,
        Self::Webrtc,
        Self::Hls,
        Self::Websocket,
    ];

    /// Whether its players begin when they have some bytes, for they know no other measure. Those of the others go by the
    /// times in what they are sent, and would only be late.
    pub(crate) const fn counts_bytes(self) -> bool {
        matches!(self, Self::Http | Self::Icy)
    }

    /// The metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Icy => "icy",
            Self::Flv => "flv",
            Self::Rtmp => "rtmp",
            Self::Webrtc => "webrtc",
            Self::Hls => "hls",
            Self::Websocket => "ws",
        }
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
