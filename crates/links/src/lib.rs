//! Links: connections that this server makes itself, to push streams to other servers and to pull
//! streams from them.
//!
//! ```text
//!  [[pull]] ──► one task each, or per stream ────────────► publisher, like any other
//!  [[push]] ──► one task per rule and live stream ──────► listener, like any other
//!                 each writes its net::link::Status, which API and metrics read
//! ```
//!
//! Each task reconnects by itself and touches no other's state. This module decides which tasks there are: a
//! push begins when its stream is live and ends with it; a pull on demand begins with the first listener and
//! ends some time after the last; a pattern has a pull for each stream that it brings. The addresses of other
//! servers are mostly secret; what is shown of them was made when the configuration was read.

mod board;
mod events;
mod pull;
mod push;
mod trust;

use std::sync::Arc;
use std::time::Duration;

use config::Config;
use fanout::Registry;
use fanout::events::Events;
use media::StreamName;
use net::link::Connector;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

pub use self::board::{Board, Row};
use self::pull::{Key, Pulls};
use self::push::Pushes;
pub use self::trust::TrustError;
pub use self::trust::connector;
use auth::AuthorityGate;
use fallback::FallbackOrigin;

/// How often new streams are looked for, and so how late a push is at most.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// All links, as the API, the metrics and draining see them.
#[derive(Clone, Debug)]
pub struct Links {
    /// By the stream and the number of the rule.
    pub pushes: Arc<Board<(StreamName, usize)>>,
    /// By the number of the rule and the stream.
    pub pulls: Arc<Board<Key>>,
}

impl Links {
    /// No link has begun. Links that go up and down are told to `events`.
    pub fn new(events: &Arc<Events>) -> Self {
        Self {
            pushes: Arc::new(Board::new("push", events)),
            pulls: Arc::new(Board::new("pull", events)),
        }
    }
}

/// What links use of the server.
pub struct Context {
    /// Its rules `[[push]]` and `[[pull]]`.
    pub config: Arc<Config>,
    /// The streams.
    pub registry: Arc<Registry>,
    /// Permits what the server publishes and plays itself.
    pub gate: Arc<AuthorityGate>,
    /// What pulled streams are published by.
    pub ingest: Arc<ingest::Context>,
    /// Makes the connections.
    pub connector: Connector,
    /// Where each link is entered while it is there.
    pub links: Links,
    /// Streams that come on demand are left to pulls by it.
    pub origin: Arc<FallbackOrigin>,
}

/// Begins the links, and keeps them until `stop` turns true; then lets each end in order. To be called before
/// there are listeners: from here on streams that come on demand are known.
pub fn supervise(context: Context, stop: watch::Receiver<bool>) -> impl Future<Output = ()> + Send {
    let context = Arc::new(context);
    let mut tasks = JoinSet::new();
    let pushes = Pushes::new(&context, &stop);
    let pulls = Pulls::begin(&context, &mut tasks, &stop);
    keep(stop, tasks, pushes, pulls)
}

async fn keep(
    mut stop: watch::Receiver<bool>,
    mut tasks: JoinSet<()>,
    mut pushes: Pushes,
    mut pulls: Pulls,
) {
    let mut ticks = interval(LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => break,
            _ = ticks.tick(), if pushes.has_rules() => pushes.begin(&mut tasks),
            Some(question) = pulls.question() => pulls.answer(question, &mut tasks),
            Some(ended) = tasks.join_next() => reap(ended),
        }
    }
    // Requests that still wait for a pull are told that there is none.
    drop(pulls);
    while let Some(ended) = tasks.join_next().await {
        reap(ended);
    }
}

fn reap(ended: Result<(), JoinError>) {
    // One that was cancelled has given way to another.
    if let Err(error) = ended
        && !error.is_cancelled()
    {
        tracing::error!(%error, "a link ended out of order");
    }
}
