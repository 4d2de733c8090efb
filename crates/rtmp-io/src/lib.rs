//! RTMP connections until it is known what the peer wants, and between two of its requests.
//!
//! ```text
//!  door ── socket, first bytes ──► RtmpConnection ──► next_request ─┬─► PublishRequest ──► ingest
//!                                         ▲                         │                        │
//!                                         └──── it has unpublished ─│────────────────────────┘
//!                                                                   ├─► PlayRequest ──► egress-rtmp
//!                                                                   ├─► Failed ──► counted and told by ingest
//!                                                                   └─► Closed
//! ```
//!
//! RTMP tells late what a peer wants: the handshake, `connect` and `createStream` are the same for
//! publishers and players. [`next_request`] does all of that, and hands the connection over with the
//! request. The owner of the request gives the connection back when a publisher has ended its stream and
//! may ask for another.
//!
//! Invariants: each wait has a deadline, which the session keeps; what stands behind a request in the same
//! read is kept unread for the request's owner.
//!
//! Called by the RTMP ports of `server`. Publishers go on in `ingest`, players in `egress-rtmp`; their links to
//! other servers find out here where a URL leads ([`address()`]).

mod address;
mod connection;
mod doorway;
mod error;
mod exchange;

use std::sync::Arc;
use std::time::Instant;

use net::holdings::Holdings;
use rtmp::server::Config;
use tokio::sync::watch;

pub use address::{address, moved};
pub use connection::RtmpConnection;
pub use doorway::{Failed, NextRequest, PlayRequest, PublishRequest, next_request};
pub use error::Error;
pub use exchange::{Exchange, Step};

/// What all connections share until they ask for a stream.
#[derive(Debug)]
pub struct Context {
    /// The session's deadlines, and how passwords are proved without sending them.
    pub session: Config,
    /// Turns true when the server is about to leave: peers that know the request are asked to connect
    /// again.
    pub leaving: watch::Receiver<bool>,
    /// Where is counted what connections hold.
    pub holdings: Arc<Holdings>,
}

/// The present, by the clock that the runtime's timers go by.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
