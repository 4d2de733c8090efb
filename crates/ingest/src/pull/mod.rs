//! Pulling: a stream fetched from another server, over RTMP, as FLV over HTTP, or as a mount of an Icecast or
//! SHOUTcast server, and published here.
//!
//! ```text
//!  Connecting ── the first media arrives ──► Running: a publisher like any other
//!      ▲  │                                     │
//!      │  ▼  it fails                           │ it ends, fails, or is silent
//!  Waiting ◄────────────────────────────────────┘
//! ```
//!
//! While another publisher has the stream, the pull is idle; it connects as soon as that publisher has left.
//! It begins to publish with the first media, so that a source that is connected but silent does not show a
//! stream. `server` runs one task for each stream; for a pull on demand, only while the stream is wanted. A
//! request for the stream shortens the wait after a failure. If it is not known that the source has the
//! stream at all, the first attempt that delivers nothing is the last.

mod failure;
mod feed;
mod http;
mod icy_answer;
mod radio;
mod rtmp;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use fanout::gate::{Authorized, Publish};
use net::link::{Backoff, Connector, State, Status};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

pub use self::failure::Failure;
use self::feed::Feed;
pub use self::source::PullSource;
use crate::Context;

/// Interval at which the pull checks whether another publisher still has the stream: well below the time for
/// which streams linger.
const TAKEN_POLL: Duration = Duration::from_millis(500);

/// Least time between two attempts, however many requests for the stream arrive.
const ASKED_INTERVAL: Duration = Duration::from_secs(5);

/// Watch on the time of the last request for the stream.
pub type LastRequest = watch::Receiver<Option<Instant>>;

/// Reaction to an attempt that delivers nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Persistence {
    /// Another attempt, after a while.
    Keep,
    /// Another attempt while the stream exists and lingers; otherwise the pull is over.
    WhileHere,
}

/// Outcome of a pull.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The pull was stopped.
    Stopped,
    /// The source has delivered nothing, and there is no stream to keep.
    FoundNothing,
}

/// One stream, pulled from one source.
#[derive(Debug)]
pub struct Pull {
    /// The sources: the first, and others to use while it fails. At least one.
    pub sources: Vec<PullSource>,
    /// Receives the pull's state.
    pub status: Arc<Status>,
    /// Requests for the stream while it is absent; unused by a pull that runs without requests.
    pub asked: Option<LastRequest>,
    /// Reaction to an attempt that delivers nothing.
    pub persistence: Persistence,
}

/// End of a connection without a failure.
#[derive(Debug)]
enum End {
    /// The pull is over.
    Stop,
    /// The source wants another connection, at another address if it names one.
    Moved(Option<PullSource>),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stop => "it is no longer wanted",
            Self::Moved(_) => "the source asks for a new connection",
        })
    }
}

/// Pulls a stream from its source until `stop` is ready, or as long as its persistence lasts; then leaves.
/// Calls `permit` each time it begins to publish, for permission under the pull's own credential.
pub async fn run(
    context: &Context,
    connector: &Connector,
    pull: &Pull,
    permit: impl Fn() -> Authorized<Publish> + Sync,
    stop: impl Future<Output = ()>,
) -> Outcome {
    let mut stop = pin!(stop);
    let mut asked = pull.asked.clone();
    let mut backoff = Backoff::default();
    // Address that the source has redirected to; it is tried once.
    let mut moved = None;
    // Index of the next source.
    let mut turn = 0;
    loop {
        let mut feed = Feed::new(context, &permit, &pull.status);
        if feed.is_taken() {
            pull.status.enter(State::Idle);
            tracing::info!(source = %pull.sources[turn], "a pull waits: the stream has another publisher");
            tokio::select! {
                () = free(&feed) => {}
                () = &mut stop => return Outcome::Stopped,
            }
        }
        pull.status.enter(State::Connecting);
        let began = Instant::now();
        let source = moved.take().unwrap_or_else(|| pull.sources[turn].clone());
        let end = fetch(connector, &source, &mut feed, stop.as_mut()).await;
        match end {
            Ok(end) => {
                feed.end(&end);
                match end {
                    End::Stop => return stopped(pull),
                    End::Moved(to) => moved = to,
                }
            }
            // A publisher arrived while the pull was connecting.
            Err(Failure::Busy) => continue,
            Err(failure) => {
                pull.status.fail(&failure);
                let is_last = turn + 1 == pull.sources.len();
                if is_last && pull.persistence == Persistence::WhileHere && feed.is_of_nothing() {
                    tracing::info!(%source, reason = %failure, "a pull found nothing");
                    pull.status.enter(State::Idle);
                    return Outcome::FoundNothing;
                }
                tracing::warn!(%source, reason = %failure, "a pull failed");
                feed.end(&failure);
                // After a source that delivered media, the first source has its turn again.
                turn = match feed.ran().is_zero() {
                    true => (turn + 1) % pull.sources.len(),
                    false => 0,
                };
                if turn > 0 {
                    continue;
                }
            }
        }
        let delay = backoff.after(feed.ran(), random());
        if feed.is_taken() {
            continue;
        }
        pull.status.enter(State::Waiting);
        tokio::select! {
            () = sleep(delay) => {}
            () = asked_anew(asked.as_mut(), began + ASKED_INTERVAL) => {}
            () = &mut stop => return stopped(pull),
        }
    }
}

fn stopped(pull: &Pull) -> Outcome {
    pull.status.enter(State::Idle);
    Outcome::Stopped
}

/// Waits until no other publisher has the stream.
async fn free(feed: &Feed<'_>) {
    while feed.is_taken() {
        sleep(TAKEN_POLL).await;
    }
}

/// Waits for a new request for the stream, but at least until `earliest`.
async fn asked_anew(asked: Option<&mut LastRequest>, earliest: Instant) {
    if let Some(asked) = asked {
        asked.mark_unchanged();
        if asked.changed().await.is_ok() {
            return sleep_until(earliest).await;
        }
    }
    // There are no requests.
    std::future::pending().await
}

/// Runs one connection, from its beginning to its end.
async fn fetch(
    connector: &Connector,
    source: &PullSource,
    feed: &mut Feed<'_>,
    stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<End, Failure> {
    match source {
        PullSource::Rtmp(address) => rtmp::fetch(connector, address, feed, stop).await,
        PullSource::Http(address) => http::fetch(connector, address, feed, stop).await,
    }
}

/// Returns random bits; if the system has none, a fixed value is better than no pull.
fn random() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX)
}
