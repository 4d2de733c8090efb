//! Listeners over RTMP: from a request to play to a socket in the fan-out.
//!
//! ```text
//!  door ── PlayRequest ──► join (waits for it) ► accept ► lane ──► a worker has the connection
//!                            ▲                                                │
//!                            └── pause, selection, stop, another play ◄───────┘  it comes back
//! ```
//!
//! A file is not a stream: the task of its player reads it through [`Films`] and sends it, plain or over TLS,
//! at the pace that the player requests.
//!
//! * The lane's bytes are final chunk-stream bytes, the same for every player; the private packager makes
//!   them once per stream.
//! * While media flows, the worker that owns the socket answers a player's acknowledgements and pings.
//!   Anything else ends the flow between two messages and is decided by a task.

mod error;
mod films;
mod format;
mod play;
pub mod push;
#[cfg(test)]
mod testing;

use std::sync::Arc;
use std::time::Duration;

use fanout::gate::Gate;
use fanout::{Permit, Registry};
use net::TransportStream;
use net::rtmp::PlayRequest;
use tokio::sync::watch;

pub use error::Error;
pub use films::{Coming, Film, Films};

/// State shared by every player's connection.
pub struct Context {
    /// All streams.
    pub registry: Arc<Registry>,
    /// Gate that decides who may play.
    pub gate: Arc<dyn Gate>,
    /// Time that a player waits for an absent stream; zero refuses it at once.
    pub play_wait: Duration,
    /// Files that can be played.
    pub films: Arc<dyn Films>,
    /// Becomes true when the server is about to leave: players that support it are asked to reconnect.
    pub leaving: watch::Receiver<bool>,
}

base::debug!(Context {
    registry,
    play_wait
});

/// Serves a player. Returns when a worker has its connection, or when it is over; the worker may return the
/// connection to a task of its own.
///
/// `permit` counts the player under the server's limits, and is held until its connection ends.
pub async fn serve<S: TransportStream>(
    context: &Arc<Context>,
    request: PlayRequest<S>,
    permit: Option<Permit>,
) {
    play::begin(Arc::clone(context), request, permit).await;
}
