//! Serving of one request for a stream, from its head to its last byte.

mod decide;
mod own;
mod patience;
mod shared;
mod websocket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base::Jitter;
use fanout::gate::Gate;
use fanout::{ListenerId, Registry};
use http1::Status;
use media::StreamName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::listen::intro::Intro;

pub use own::serve;
pub use shared::{LiveBody, LiveReply, reply};

/// Shared state and settings for serving listeners.
#[derive(Clone)]
pub struct Context {
    /// Live streams.
    pub registry: Arc<Registry>,
    /// Authorization of listeners.
    pub gate: Arc<dyn Gate>,
    /// Server header. Players and directories look for `Icecast` at its start.
    pub server_header: String,
    /// Overflow streams; see [`Overflow`].
    pub overflow: Overflow,
    /// Intros; see [`Intros`].
    pub intros: Intros,
    /// Random spread of the retry times sent to refused clients.
    pub jitter: Arc<Jitter>,
    /// Flag that is true once the server is about to leave; WebSocket clients are notified when their stream ends.
    pub leaving: watch::Receiver<bool>,
}

/// Lookup of the stream that takes the listeners for whom a stream has no place; `None` if there is none.
pub type Overflow = Arc<dyn Fn(&StreamName) -> Option<StreamName> + Send + Sync>;

/// Lookup of the intro that listeners of a stream are sent first; `None` if there is none.
pub type Intros = Arc<dyn Fn(&StreamName) -> Option<Arc<Intro>> + Send + Sync>;

/// Default Server header.
const SERVER_HEADER: &str = "Icecast 2.4.4 (Carillon)";

impl Context {
    /// Creates a context with the default Server header.
    pub fn new(registry: Arc<Registry>, gate: Arc<dyn Gate>) -> Self {
        Self {
            registry,
            gate,
            server_header: SERVER_HEADER.to_owned(),
            overflow: Arc::new(|_| None),
            intros: Arc::new(|_| None),
            jitter: Arc::new(Jitter::new(0)),
            leaving: watch::channel(false).1,
        }
    }
}

base::debug!(Context {
    registry,
    server_header
});

/// Outcome of a request, for the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The request was answered without a stream, and the connection is closed.
    Answered {
        /// Status of the reply.
        status: Status,
        /// Length of the reply in bytes, head included.
        bytes: usize,
    },
    /// The request became a listener, whose end is reported as a [`fanout::Departure`].
    Listening(ListenerId),
    /// The client was gone before it could be answered.
    Gone,
}

/// Complete reply, ready for the wire.
#[derive(Debug)]
struct Answer {
    status: Status,
    bytes: Vec<u8>,
}

impl Answer {
    const fn new(status: Status, bytes: Vec<u8>) -> Self {
        Self { status, bytes }
    }
}

/// Time that a client may take to receive a reply.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time and number of bytes for which the rest of a request is read after the reply: closing a socket with unread bytes resets
/// the connection, and the reply may be lost with it.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
const DRAIN_BYTES_MAX: u64 = 64 * 1024;

/// Size of the pieces in which the input of a client that keeps sending while it waits is read and ignored.
const CHATTER_BYTES: usize = 64;

/// Waits for a decision, unless the client leaves: then everything held for the decision is released. Returns `None` when the
/// client has left.
async fn unless_gone<S, T>(socket: &mut S, decision: impl Future<Output = T>) -> Option<T>
where
    S: AsyncRead + Unpin,
{
    let left = async {
        let mut chatter = [0; CHATTER_BYTES];
        while socket.read(&mut chatter).await.is_ok_and(|count| count > 0) {}
    };
    tokio::select! {
        // The decision comes first, so that a client that need not wait is answered even if it has closed its half.
        biased;
        decision = decision => Some(decision),
        () = left => None,
    }
}

/// Writes a reply and closes the connection in an orderly way.
async fn answer<S>(socket: S, answer: Answer) -> Outcome
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Answer { status, bytes } = answer;
    match timeout(ANSWER_TIMEOUT, write_and_close(socket, &bytes)).await {
        Ok(Ok(())) => Outcome::Answered {
            status,
            bytes: bytes.len(),
        },
        Ok(Err(_)) | Err(_) => Outcome::Gone,
    }
}

async fn write_and_close<S>(mut socket: S, bytes: &[u8]) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    socket.write_all(bytes).await?;
    socket.shutdown().await?;
    let mut rest = socket.take(DRAIN_BYTES_MAX);
    let drain = async { tokio::io::copy(&mut rest, &mut tokio::io::sink()).await };
    // The reply is out; what the client does now does not matter.
    if let Ok(Err(error)) = timeout(DRAIN_TIMEOUT, drain).await {
        tracing::trace!(%error, "the client closed first");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
