//! Links: connections that this server makes itself, to push streams to other servers and to pull
//! streams from them.
//!
//! ```text
//!  [[pull]] ──► one task each, or per stream ────────────► publisher, like any other
//!  [[push]] ──► one task per rule and live stream ──────► listener, like any other
//!                 each writes its net::link::Status, which API and metrics read
//! ```
//!
//! The tasks connect again by themselves and touch nothing of each other's. This module decides which
//! of them there are: a push begins when its stream is live and ends with it, a pull on demand begins
//! with the first listener and ends some time after the last, one for each stream that a pattern brings.
//! Where other servers are is a secret in most of its parts, so what is shown of it was made when the
//! configuration was read.

mod board;
mod events;
mod pull;
mod push;
mod trust;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fanout::events::Events;
use media::StreamName;
use net::link::Connector;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

pub(crate) use self::board::{Board, Row, Totals};
use self::pull::{Key, Pulls};
pub use self::trust::TrustError;
pub(crate) use self::trust::connector;
use crate::node::Node;

/// How often it is looked for streams that have begun, so how late a push is.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Links {
    connector: Connector,
    /// There have been more streams to push than can be; said once.
    is_crowded: AtomicBool,
    /// By the stream and the number of the rule.
    pub(crate) pushes: Arc<Board<(StreamName, usize)>>,
    /// By the number of the rule and the stream.
    pub(crate) pulls: Arc<Board<Key>>,
}

impl Links {
    /// No link has begun.
    pub(crate) fn new(connector: Connector, events: &Arc<Events>) -> Self {
        Self {
            connector,
            is_crowded: AtomicBool::new(false),
            pushes: Arc::new(Board::new("push", events)),
            pulls: Arc::new(Board::new("pull", events)),
        }
    }
}

/// Begins the links, and keeps them until `stop` turns true; then lets each take its leave. To be called before
/// there are listeners: from here on streams that come on demand are known.
pub(crate) fn supervise(
    node: Arc<Node>,
    stop: watch::Receiver<bool>,
) -> impl Future<Output = ()> + Send {
    let mut tasks = JoinSet::new();
    let pulls = Pulls::begin(&node, &mut tasks, &stop);
    keep(node, stop, tasks, pulls)
}

async fn keep(
    node: Arc<Node>,
    stop: watch::Receiver<bool>,
    mut tasks: JoinSet<()>,
    mut pulls: Pulls,
) {
    let mut stopped = stop.clone();
    let mut ticks = interval(LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => break,
            _ = ticks.tick(), if !node.config.pushes.is_empty() => {
                push::begin(&node, &mut tasks, &stop);
            }
            Some(question) = pulls.question() => pulls.answer(question, &mut tasks),
            Some(ended) = tasks.join_next() => reap(ended),
        }
    }
    // Whoever still asks is told that nobody looks.
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
