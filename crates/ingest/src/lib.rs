//! Publishers' connections: from a socket to a stream's items.
//!
//! ```text
//!  door ──request to publish───► rtmp::serve ────┐ gate: may it?   ┌─► Publisher ──items──► stream
//!       ──socket, request head─► icecast::serve ─┴─► admission ────┤
//!                                                                  └─► its protocol's refusal
//! ```
//!
//! Publishers connect to this server, and [`pull`] connects to other servers; from there on the two are
//! alike.
//!
//! Plain-RTMP publishers, of which there may be thousands, are read by the threads of [`net::intake`] once
//! they are admitted. WebRTC publishers have no connection of their own: the threads of the WebRTC port pass
//! their packets to [`whip::Publishers`].
//!
//! Each driver owns one connection from the moment the door recognises it as a publisher until it is closed;
//! over RTMP, only until the publisher ends its stream, after which it may request another. A driver turns
//! one read into one batch of items and one [`Publisher::write`](fanout::Publisher::write). Everything that
//! can end a connection is an [`Error`]; each protocol has one function that turns an error into words on the
//! wire, and [`Rejection`] is its name in the metrics.
//!
//! Invariants: there is no publisher without the gate's permission; every wait has a bounded time and every
//! buffer a bounded size; a refused client receives the reason before the socket closes. Keys and passwords
//! are passed to the gate and nowhere else.
//!
//! Called by the doors of `server`.

mod admission;
mod error;
pub mod icecast;
pub mod pull;
mod refusal;
pub mod rtmp;
mod script_events;
mod stats;
pub mod whip;

use std::sync::Arc;
use std::time::{Duration, Instant};

use media::StreamName;

pub use admission::name;
pub use error::{Error, ProtocolError, Rejection};
pub use stats::Stats;

base::labels! {
    /// Protocol that a publisher uses.
    pub enum Protocol {
        /// RTMP.
        Rtmp = "rtmp",
        /// Icecast's `SOURCE` and `PUT`.
        Icecast = "icecast",
        /// A pull from another server, at this server's request.
        Pull = "pull",
        /// WebRTC.
        Whip = "whip",
    }
}

/// State shared by all connections.
pub struct Context {
    /// All streams.
    pub registry: Arc<fanout::Registry>,
    /// The gate.
    pub gate: Arc<dyn fanout::gate::Gate>,
    /// Rules for publishers.
    pub settings: Settings,
    /// Counters, for export.
    pub stats: Arc<Stats>,
    /// The threads that read publishers over RTMP; `None` leaves each to its task.
    pub intake: Option<net::intake::Intake>,
    /// Function that returns whether a stream of this name would hide an address that the server serves.
    pub is_taken: fn(&StreamName) -> bool,
    /// Becomes true when the server is about to shut down; publishers whose protocol supports it are then
    /// asked to reconnect.
    pub leaving: tokio::sync::watch::Receiver<bool>,
}

base::debug!(Context { settings });

/// Time limits of publishers, and how the server identifies itself to them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Longest time from the permission to publish over RTMP to the first media; encoders open their devices
    /// late.
    pub first_media_timeout: Duration,
    /// Longest time a publisher may send no media before its epoch ends.
    pub source_timeout: Duration,
    /// `Server` header of replies to sources.
    pub server_name: String,
    /// Streams that SHOUTcast sources publish to.
    pub shoutcast: icecast::ShoutcastStreams,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            first_media_timeout: Duration::from_secs(20),
            source_timeout: Duration::from_secs(10),
            server_name: "Icecast 2.4.4 (Carillon)".to_owned(),
            shoutcast: icecast::ShoutcastStreams::default(),
        }
    }
}

/// Returns the current time by the clock of the runtime's timers.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod testing;
