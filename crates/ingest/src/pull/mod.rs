//! Pulling: a stream fetched from another server, over RTMP or as FLV over HTTP, and published here.
//!
//! ```text
//!  Connecting ── the first media arrives ──► Running: a publisher like any other
//!      ▲  │                                     │
//!      │  ▼  it fails                           │ it ends, fails, or is silent
//!  Waiting ◄────────────────────────────────────┘
//! ```
//!
//! A stream that another publisher has is left alone: the pull is idle, and connects as soon as that
//! one is gone. It begins to publish with the first media, so that a source which is connected but
//! silent does not show a stream. `server` runs one task for each stream; one on demand it runs while
//! the stream is wanted, and whoever asks for the stream meanwhile shortens the wait after a failure. Where it is
//! not known that the source has the stream at all, an attempt that brings none is the last.

mod failure;
mod feed;
mod http;
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
pub use self::source::{Source, SourceError};
use crate::Context;

/// How often it is looked whether another publisher still has the stream: well below the time for which
/// streams linger.
const TAKEN_POLL: Duration = Duration::from_millis(500);

/// From one attempt to the next, however many ask for the stream meanwhile.
const ASKED_INTERVAL: Duration = Duration::from_secs(5);

/// Tells when somebody last asked for a stream.
pub type Asked = watch::Receiver<Option<Instant>>;

/// What follows an attempt that brings nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Persistence {
    /// Another one, after a while.
    Keep,
    /// Another one if the stream is here all the same, and lingers; otherwise the pull is over.
    WhileHere,
}

/// How a pull ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It was stopped.
    Stopped,
    /// The source has brought nothing, and there is no stream to keep.
    FoundNothing,
}

/// One stream's way from one source.
#[derive(Debug)]
pub struct Pull {
    /// Where from.
    pub source: Source,
    /// Told how it fares.
    pub status: Arc<Status>,
    /// Who asks for it while it is absent; of no meaning to a pull that goes on without being asked.
    pub asked: Option<Asked>,
    /// What follows an attempt that brings nothing.
    pub persistence: Persistence,
}

/// How a connection ended that did not fail.
#[derive(Debug)]
enum End {
    /// The pull is over.
    Stop,
    /// The source wants another connection, at another address if it names one.
    Moved(Option<Source>),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stop => "nobody wants it any more",
            Self::Moved(_) => "the source asks for a new connection",
        })
    }
}

/// Keeps a stream coming from its source until `stop` is ready, or as long as its persistence lasts; then takes leave. `permit` permits
/// to publish it, under the pull's own credential, each time that it begins.
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
    // Where the source has asked to be looked for; it is asked there once.
    let mut moved = None;
    loop {
        let mut feed = Feed::new(context, &permit, &pull.status);
        if feed.is_taken() {
            pull.status.enter(State::Idle);
            tracing::info!(source = %pull.source, "a pull waits: somebody else publishes the stream");
            tokio::select! {
                () = free(&feed) => {}
                () = &mut stop => return Outcome::Stopped,
            }
        }
        pull.status.enter(State::Connecting);
        let began = Instant::now();
        let source = moved.take().unwrap_or_else(|| pull.source.clone());
        let end = fetch(connector, &source, &mut feed, stop.as_mut()).await;
        match end {
            Ok(end) => {
                feed.end(&end);
                match end {
                    End::Stop => return stopped(pull),
                    End::Moved(to) => moved = to,
                }
            }
            // It came while we were connecting.
            Err(Failure::Busy) => continue,
            Err(failure) => {
                pull.status.fail(&failure);
                if pull.persistence == Persistence::WhileHere && feed.is_of_nothing() {
                    tracing::info!(%source, reason = %failure, "a pull found nothing");
                    pull.status.enter(State::Idle);
                    return Outcome::FoundNothing;
                }
                tracing::warn!(%source, reason = %failure, "a pull failed");
                feed.end(&failure);
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

/// Waits until somebody asks for the stream who has not asked before, but not before `earliest`.
async fn asked_anew(asked: Option<&mut Asked>, earliest: Instant) {
    if let Some(asked) = asked {
        asked.mark_unchanged();
        if asked.changed().await.is_ok() {
            return sleep_until(earliest).await;
        }
    }
    // Nobody can.
    std::future::pending().await
}

/// One connection, from its beginning to its end.
async fn fetch(
    connector: &Connector,
    source: &Source,
    feed: &mut Feed<'_>,
    stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<End, Failure> {
    match source {
        Source::Rtmp(address) => rtmp::fetch(connector, address, feed, stop).await,
        Source::Http(address) => http::fetch(connector, address, feed, stop).await,
    }
}

/// Random bits; if the system has none, no chance is better than no pull.
fn random() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX)
}
