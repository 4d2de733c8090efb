//! One request for a stream, from its head to its last byte.

mod decide;
mod own;
mod patience;
mod shared;
mod websocket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fanout::gate::Gate;
use fanout::{ListenerId, Registry};
use http1::Status;
use media::StreamName;
use net::Jitter;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::listen::intro::Intro;

pub use own::serve;
pub use shared::{LiveBody, LiveReply, reply};

/// What serving needs to know of the server.
#[derive(Clone)]
pub struct Context {
    /// The streams.
    pub registry: Arc<Registry>,
    /// Decides who may listen.
    pub gate: Arc<dyn Gate>,
    /// The Server header. Players and directories look for `Icecast` at its start.
    pub server_header: String,
    /// See [`Overflow`].
    pub overflow: Overflow,
    /// See [`Intros`].
    pub intros: Intros,
    /// Spreads the clients that are told to come again.
    pub jitter: Arc<Jitter>,
    /// True once the server is about to leave: a WebSocket is told so when its stream ends.
    pub leaving: watch::Receiver<bool>,
}

/// The stream that takes listeners for whom a stream has no place, if there is one.
pub type Overflow = Arc<dyn Fn(&StreamName) -> Option<StreamName> + Send + Sync>;

/// What listeners of a stream are sent first, if anything is.
pub type Intros = Arc<dyn Fn(&StreamName) -> Option<Arc<Intro>> + Send + Sync>;

/// The Server header unless another is configured.
const SERVER_HEADER: &str = "Icecast 2.4.4 (Carillon)";

impl Context {
    /// A context with the usual Server header.
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

/// What became of a request, for the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It was answered without a stream, and the connection is closed.
    Answered {
        /// The answer's status.
        status: Status,
        /// Bytes of the answer, its head included.
        bytes: usize,
    },
    /// It became a listener, whose end is reported as a [`fanout::Departure`].
    Listening(ListenerId),
    /// The client was gone before it could be answered.
    Gone,
}

/// A whole answer, ready for the wire.
#[derive(Debug)]
struct Answer {
    status: Status,
    bytes: Vec<u8>,
}

/// How long a client may take to receive an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long, and for how many bytes, the rest of a request is read after the answer: closing a socket with
/// unread bytes resets the connection, and the answer may be lost with it.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
const DRAIN_BYTES_MAX: u64 = 64 * 1024;

/// The input of a client that keeps sending while it waits is read in pieces of this size and ignored.
const CHATTER_BYTES: usize = 64;

/// Waits for a decision, unless the client leaves: then what was held for it is released. `None` when it has
/// left.
async fn unless_gone<S, T>(socket: &mut S, decision: impl Future<Output = T>) -> Option<T>
where
    S: AsyncRead + Unpin,
{
    let left = async {
        let mut chatter = [0; CHATTER_BYTES];
        while socket.read(&mut chatter).await.is_ok_and(|count| count > 0) {}
    };
    tokio::select! {
        // First, so that a client that need not wait is answered even if it has closed its half.
        biased;
        decision = decision => Some(decision),
        () = left => None,
    }
}

/// Writes an answer and closes the connection in an orderly way.
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
    // The answer is out; what the client does now does not matter.
    if let Ok(Err(error)) = timeout(DRAIN_TIMEOUT, drain).await {
        tracing::trace!(%error, "the client closed first");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
