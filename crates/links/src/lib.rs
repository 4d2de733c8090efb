//! Links: connections that this server makes itself, to push streams to other servers and to pull streams from them.
//!
//! ```text
//!  [[pull]] ──► one task each, or per stream ────────────► publisher, like any other
//!  [[push]] ──► one task per rule and live stream ──────► listener, like any other
//!                 each writes its net::link::Status, which API and metrics read
//! ```
//!
//! Each task reconnects by itself and touches no other task's state. This module decides which tasks exist: a push begins when
//! its stream is live and ends with it; a pull on demand begins with the first listener and ends some time after the last; a
//! pattern has a pull for each stream that it brings. The URLs of other servers are mostly secret; the displayed form of each
//! was made when the configuration was read.

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
pub use self::trust::{TrustError, connector};
use auth::AuthorityGate;
use programme::fallback::FallbackOrigin;

/// Interval at which new streams are looked for, and so the maximum delay of a push.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Boards of all links, for the API, the metrics and draining.
#[derive(Clone, Debug)]
pub struct Links {
    /// Pushes, by stream and rule number.
    pub pushes: Arc<Board<(StreamName, usize)>>,
    /// Pulls, by rule number and stream.
    pub pulls: Arc<Board<Key>>,
}

impl Links {
    /// Creates empty boards. Links that go up and down are reported to `events`.
    pub fn new(events: &Arc<Events>) -> Self {
        Self {
            pushes: Arc::new(Board::new("push", events)),
            pulls: Arc::new(Board::new("pull", events)),
        }
    }
}

/// Parts of the server that links use.
pub struct Context {
    /// Configuration, with the rules `[[push]]` and `[[pull]]`.
    pub config: Arc<Config>,
    /// Live streams.
    pub registry: Arc<Registry>,
    /// Authorization for streams that the server publishes and plays itself.
    pub gate: Arc<AuthorityGate>,
    /// Context by which pulled streams are published.
    pub ingest: Arc<ingest::Context>,
    /// Connector to other servers.
    pub connector: Connector,
    /// Boards on which each link is entered while it is present.
    pub links: Links,
    /// Origin of fallback streams, which passes requests for other streams on to the pulls.
    pub origin: Arc<FallbackOrigin>,
}

/// Begins the links, and keeps them until `stop` turns true; then lets each end in order. To be called before there are
/// listeners: from here on the streams of pulls on demand are known.
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
    // Requests that still wait for a pull get the reply that there is none.
    drop(pulls);
    while let Some(ended) = tasks.join_next().await {
        reap(ended);
    }
}

fn reap(ended: Result<(), JoinError>) {
    // A cancelled link has given way to another.
    if let Err(error) = ended
        && !error.is_cancelled()
    {
        tracing::error!(%error, "a link ended out of order");
    }
}
