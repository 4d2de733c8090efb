//! Pushing: a stream sent on to another server, as if its publisher also published there.
//!
//! ```text
//!  Idle ── the stream is live ──► Connecting ── publish accepted ──► Running
//!    ▲                               │  ▲                               │
//!    │                               ▼  │ after a while                 │
//!    └───── the stream ends ◄───── Waiting ◄──────────── it fails ──────┘
//! ```
//!
//! A push is a listener like any other: it follows a lane of its own form, shared by all pushes of the
//! stream, and is dropped when it falls behind. So a target that fails disturbs neither the stream nor any
//! other target. While the publisher is away the connection is kept and nothing is sent.
//!
//! `server` runs one task for each rule and stream; addresses never show their secrets.

mod delivery;
mod failure;
mod opening;
#[cfg(test)]
mod tests;

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use ::rtmp::client::Address;
use fanout::Registry;
use fanout::gate::{Authorized, Play};
use net::link::{Backoff, Connector, State, Status};
use tokio::time::sleep;

use self::delivery::{Delivery, End};
pub use self::failure::Failure;

/// Delivery of one stream to one target.
#[derive(Debug)]
pub struct Push {
    /// Permission to send the stream on; it names the stream.
    pub permission: Arc<Authorized<Play>>,
    /// Address of the target.
    pub address: Address,
    /// Status in which progress is reported.
    pub status: Arc<Status>,
}

/// Keeps a stream flowing to its target whenever it is live, until `stop` is ready; then says goodbye.
pub async fn run(
    registry: &Arc<Registry>,
    connector: &Connector,
    push: &Push,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    let mut backoff = Backoff::default();
    // Address that the target redirected to; it is tried once.
    let mut moved = None;
    loop {
        push.status.enter(State::Idle);
        let stream = tokio::select! {
            stream = registry.live(&push.permission.action().stream) => stream,
            () = &mut stop => return,
        };
        let delivery = Delivery {
            registry,
            connector,
            push,
            stream: &stream,
        };
        let address = moved.take().unwrap_or_else(|| push.address.clone());
        let mut ran = Duration::ZERO;
        match delivery.run(&address, stop.as_mut(), &mut ran).await {
            Ok(End::Stream) => {
                tracing::info!(stream = %stream.name(), target = %address, "the push ends with its stream");
                continue;
            }
            Ok(End::Stop) => return,
            Ok(End::Moved(to)) => {
                tracing::info!(
                    stream = %stream.name(),
                    target = %address,
                    to = ?to,
                    "the target asks for a new connection"
                );
                moved = to;
            }
            Err(failure) => {
                tracing::warn!(stream = %stream.name(), target = %address, reason = %failure, "a push failed");
                push.status.fail(&failure);
            }
        }
        push.status.enter(State::Waiting);
        if wait(backoff.after(ran, random()), stop.as_mut()).await {
            push.status.enter(State::Idle);
            return;
        }
    }
}

/// Waits; returns `true` when it is time to stop.
async fn wait(delay: Duration, stop: Pin<&mut impl Future<Output = ()>>) -> bool {
    tokio::select! {
        () = sleep(delay) => false,
        () = stop => true,
    }
}

/// Returns random bits. If the system has none, the same bits each time are better than no push.
fn random() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX)
}
