//! RTMP connections until the peer's request is known, and between two of its requests.
//!
//! ```text
//!  door ── socket, first bytes ──► RtmpConnection ──► next_request ─┬─► PublishRequest ──► ingest
//!                                         ▲                         │                        │
//!                                         └──── it has unpublished ─│────────────────────────┘
//!                                                                   ├─► PlayRequest ──► egress-rtmp
//!                                                                   ├─► Failed ──► counted and reported by ingest
//!                                                                   └─► Closed
//! ```
//!
//! In RTMP the peer's intention becomes known late: the handshake, `connect` and `createStream` are the same
//! for publishers and players. [`next_request`] performs all of that, and returns the connection with the
//! request. The owner of the request returns the connection when a publisher has ended its stream and may
//! request another.
//!
//! Invariants: each wait has a deadline, which the session keeps; bytes after a request in the same read are
//! kept unread for the request's owner.
//!
//! Called by the RTMP ports of `server`. Publishers continue in `ingest`, players in `egress-rtmp`; their
//! links to other servers resolve the target of a URL here ([`address()`]).

mod address;
mod connection;
mod doorway;
mod error;
mod exchange;

use std::sync::Arc;
use std::time::Instant;

use base::holdings::Holdings;
use rtmp::server::Config;
use tokio::sync::watch;

pub use address::{address, moved};
pub use connection::RtmpConnection;
pub use doorway::{Failed, NextRequest, PlayRequest, PublishRequest, next_request};
pub use error::Error;
pub use exchange::{Exchange, Step};

/// State that all connections share until they request a stream.
#[derive(Debug)]
pub struct Context {
    /// Proof of passwords without sending them.
    pub session: Config,
    /// Becomes true when the server is about to leave: peers that support the request are asked to reconnect.
    pub leaving: watch::Receiver<bool>,
    /// Account of the connections' memory.
    pub holdings: Arc<Holdings>,
}

/// Returns the current time by the clock of the runtime's timers.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
