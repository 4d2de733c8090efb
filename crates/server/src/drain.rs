//! Shutdown: no new connections, time for present ones, then the end.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::Node;

/// How often it is checked whether the last listener has left.
const POLL: Duration = Duration::from_millis(50);

/// Lets publishers and listeners go on until the last listener has left, `hurry` resolves, or the
/// configured time is over.
pub(crate) async fn drain(node: &Node, hurry: impl Future) {
    let patience = node.config.drain_timeout;
    let deadline = Instant::now() + patience;
    let emptied = async {
        while listeners(node) > 0 {
            tokio::time::sleep(POLL).await;
        }
    };
    if listeners(node) > 0 {
        tracing::info!(
            listeners = listeners(node),
            seconds = patience.as_secs(),
            "waiting for listeners to leave"
        );
    }
    tokio::select! {
        () = emptied => {}
        () = tokio::time::sleep_until(deadline) => {
            tracing::info!(listeners = listeners(node), "the time for leaving is over");
        }
        _ = hurry => tracing::info!(listeners = listeners(node), "ending at once"),
    }
}

/// Listeners that may leave: a push is one that never does by itself.
fn listeners(node: &Node) -> u64 {
    let all = node.registry.fanout().listeners();
    all.saturating_sub(node.links.pushes.running())
}
