//! Pulling: a stream fetched from another server, over RTMP or as FLV over HTTP, and published here.
//!
//! ```text
//!  Connecting ── the first media arrives ──► Running: a publisher like any other
//!      ▲  │                                     │
//!      │  ▼  it fails                           │ it ends, fails, or is silent
//!  Waiting ◄────────────────────────────────────┘
//! ```
//!
//! A stream that another publisher has is left alone: the pull says so and tries again. It begins to
//! publish with the first media, so that a source which is connected but silent does not show a
//! stream. `server` runs one task for each rule; one on demand it runs while the stream is wanted.

mod failure;
mod feed;
mod http;
mod rtmp;
mod source;
#[cfg(test)]
mod tests;

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use fanout::gate::{Authorized, Publish};
use net::link::{Backoff, Connector, State, Status};
use tokio::time::sleep;

pub use self::failure::Failure;
use self::feed::Feed;
pub use self::source::{Source, SourceError};
use crate::Context;

/// One stream's way from one source.
#[derive(Debug)]
pub struct Pull {
    /// Where from.
    pub source: Source,
    /// Told how it fares.
    pub status: Arc<Status>,
}

/// How a connection ended that did not fail.
#[derive(Debug)]
enum End {
    /// The pull is over.
    Stop,
    /// The source wants another connection, at another address if it names one.
    Moved(Option<Source>),
}

/// Keeps a stream coming from its source until `stop` is ready; then takes leave. `permit` permits
/// to publish it, under the pull's own credential, each time that it begins.
pub async fn run(
    context: &Context,
    connector: &Connector,
    pull: &Pull,
    permit: impl Fn() -> Authorized<Publish> + Sync,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    let mut backoff = Backoff::default();
    // Where the source has asked to be looked for; it is asked there once.
    let mut moved = None;
    loop {
        pull.status.enter(State::Connecting);
        let source = moved.take().unwrap_or_else(|| pull.source.clone());
        let mut feed = Feed::new(context, &permit, &pull.status);
        let end = fetch(connector, &source, &mut feed, stop.as_mut()).await;
        let ran = feed.ran();
        match end {
            Ok(End::Stop) => {
                feed.end(&"nobody wants it any more");
                return pull.status.enter(State::Idle);
            }
            Ok(End::Moved(to)) => {
                feed.end(&"the source asks for a new connection");
                moved = to;
            }
            Err(failure) => {
                tracing::warn!(%source, reason = %failure, "a pull failed");
                pull.status.fail(&failure);
                feed.end(&failure);
            }
        }
        pull.status.enter(State::Waiting);
        if wait(backoff.after(ran, random()), stop.as_mut()).await {
            return pull.status.enter(State::Idle);
        }
    }
}

/// One connection, from its beginning to its end.
async fn fetch(
    connector: &Connector,
    source: &Source,
    feed: &mut Feed<'_>,
    stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<End, Failure> {
    feed.check_free()?;
    match source {
        Source::Rtmp(address) => rtmp::fetch(connector, address, feed, stop).await,
        Source::Http(address) => http::fetch(connector, address, feed, stop).await,
    }
}

/// Waits; `true` when it is time to stop.
async fn wait(delay: Duration, stop: Pin<&mut impl Future<Output = ()>>) -> bool {
    tokio::select! {
        () = sleep(delay) => false,
        () = stop => true,
    }
}

/// Random bits; if the system has none, no chance is better than no pull.
fn random() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX)
}
