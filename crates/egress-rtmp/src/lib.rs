//! Listeners over RTMP: from a request to play to a socket in the fan-out.
//!
//! ```text
//!  door ── PlayRequest ──► join (waits for it) ► accept ► lane ──► a worker has the connection
//!                            ▲                                                │
//!                            └── pause, selection, stop, another play ◄───────┘  it comes back
//! ```
//!
//! A file is not a stream: the task of its player reads it through [`Films`] and sends it, plain or behind TLS, at the
//! pace that the player asks for.
//!
//! * The lane's bytes are final chunk-stream bytes, the same for every player; the private packager
//!   makes them once per stream.
//! * While media flows, a player's acknowledgements and pings are answered where the socket is. Anything
//!   else ends the flow between two messages and is decided by a task.
//!
//! The server's door calls [`serve`].

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
use rtmp_io::PlayRequest;
use tokio::sync::watch;

pub use error::Error;
pub use films::{Coming, Film, Films};

/// What every player's connection shares.
pub struct Context {
    /// Where streams are.
    pub registry: Arc<Registry>,
    /// Decides who may play.
    pub gate: Arc<dyn Gate>,
    /// How long a player waits for a stream that is not there; zero turns it away at once.
    pub play_wait: Duration,
    /// The files that can be played.
    pub films: Arc<dyn Films>,
    /// Turns true when the server is about to leave: players that know how are asked to connect
    /// again.
    pub leaving: watch::Receiver<bool>,
}

base::debug!(Context {
    registry,
    play_wait
});

/// Serves a player. Ends when a worker has its connection, or when it is over; the worker may give it back to a task
/// of its own.
///
/// `permit` counts the player under the server's limits, and is held until its connection ends.
pub async fn serve<S: TransportStream>(
    context: &Arc<Context>,
    request: PlayRequest<S>,
    permit: Option<Permit>,
) {
    play::begin(Arc::clone(context), request, permit).await;
}
