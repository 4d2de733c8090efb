//! Publishers' connections: from a socket to a stream's items.
//!
//! ```text
//!  door ──request to publish───► rtmp::serve ────┐ gate: may it?   ┌─► Publisher ──items──► stream
//!       ──socket, request head─► icecast::serve ─┴─► admission ────┤
//!                                                                  └─► its protocol's refusal
//! ```
//!
//! Publishers connect to us, and [`pull`] fetches; from there on the two are alike.
//!
//! Publishers over plain RTMP, of which there may be thousands, are read by the threads of
//! [`net::intake`] once they are admitted. Those over WebRTC have no connection of their own: the
//! threads of its port call [`whip::Publishers`] with their packets.
//!
//! Each driver owns one connection from the moment the door knows that it publishes until it is closed, or,
//! over RTMP, until the publisher has ended its stream and may ask for another.
//! It turns one read into one batch of items and one [`Publisher::write`](fanout::Publisher::write).
//! Everything that can end a connection is an [`Error`]; each protocol has one function that turns it
//! into words on the wire, and [`Rejection`] is its name in the metrics.
//!
//! Invariants: no publisher without the gate's permission; a bounded time for every wait, a bounded
//! size for every buffer; a refused client is told why before the socket closes. Keys and passwords
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
    /// What a publisher speaks.
    pub enum Protocol {
        /// RTMP.
        Rtmp = "rtmp",
        /// `SOURCE` and `PUT`.
        Icecast = "icecast",
        /// Another server, which we asked.
        Pull = "pull",
        /// WebRTC.
        Whip = "whip",
    }
}

/// What all connections share.
pub struct Context {
    /// The streams.
    pub registry: Arc<fanout::Registry>,
    /// The gate.
    pub gate: Arc<dyn fanout::gate::Gate>,
    /// The rules.
    pub settings: Settings,
    /// The counts.
    pub stats: Arc<Stats>,
    /// The threads that read publishers over RTMP; `None` leaves each to its task.
    pub intake: Option<net::intake::Intake>,
    /// Whether a stream of a name would hide an address that the server answers.
    pub is_taken: fn(&StreamName) -> bool,
    /// Turns true when the server is about to shut down: publishers that support it are asked to
    /// connect again.
    pub leaving: tokio::sync::watch::Receiver<bool>,
}

base::debug!(Context { settings });

/// How long publishers may take, and what they are told of the server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// From the permission to publish over RTMP to the first media: encoders open their devices late.
    pub first_media_timeout: Duration,
    /// How long a publisher may send no media before its epoch ends.
    pub source_timeout: Duration,
    /// The `Server` header of answers to sources.
    pub server_name: String,
    /// Which streams sources of SHOUTcast mean.
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

/// The present, by the clock of the runtime's timers.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod testing;
