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
use std::time::{Duration, Instant};

use fanout::Registry;
use fanout::gate::Gate;
use tokio::sync::watch;

pub use error::Error;
pub use films::{Coming, Film, Films};
pub use play::serve;

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

/// Returns the current time by the clock of the runtime's timers.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
