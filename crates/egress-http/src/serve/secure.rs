//! A listener behind TLS, or on a stream of HTTP/2: a task that follows the lane.
//!
//! ```text
//!  ┌► give all there is ─► pause ─► wait for more ─┐      the client closing ends it at once,
//!  └───────────────────────────────────────────────┘      except while it is given something
//! ```
//!
//! The pause is [`LogReader::window`].

use std::io;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use fanout::gate::Remote;
use fanout::{LogReader, Permit, Reason};
use http1::{Head, Status};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::decide::{Decision, Listen, decide};
use super::{Context, Outcome, answer, unless_gone};
use crate::Target;

/// How long it may take to give a client something; the same patience as for a plain socket.
const WRITE_STALLED_AFTER: Duration = net::tcp::USER_TIMEOUT;

/// The input of a client that keeps sending while it listens is read in pieces of this size and ignored.
const CHATTER_BYTES: usize = 256;

/// Of an intro so much is written at once: a slow client takes it in time.
const INTRO_PIECE_BYTES: usize = 16 * 1024;

/// Serves a request for a stream, on any connection, until it ends.
///
/// `permit` is as for [`serve_plain`](crate::serve_plain).
pub async fn serve_secure<S>(
    context: &Context,
    mut socket: S,
    target: Target,
    head: Head,
    remote: impl Into<Remote>,
    permit: Option<Permit>,
) -> Outcome
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let decision = {
        // Pinned here: moved, it would take its memory twice in the waiting future.
        let decision = pin!(decide(context, &target, &head, remote.into(), permit));
        unless_gone(&mut socket, decision).await
    };
    let Some(decision) = decision else {
        return Outcome::Gone;
    };
    match decision {
        Decision::Answer(words) => answer(socket, words).await,
        Decision::Listen(listen) => {
            let (head, pump) = follow(context, *listen);
            let id = pump.reader.id();
            // Boxed, because it is larger than what goes before, in which thousands may wait.
            Box::pin(pump.run(Connection(socket), Some(head))).await;
            Outcome::Listening(id)
        }
    }
}

/// What becomes of a request that shares its connection with others.
#[derive(Debug)]
pub enum Reply {
    /// It is answered.
    Whole {
        /// The answer's status.
        status: Status,
        /// The answer as HTTP/1 has it.
        bytes: Vec<u8>,
    },
    /// It has become a listener.
    Live {
        /// The answer's head as HTTP/1 has it.
        head: Bytes,
        /// Gives the body.
        body: LiveBody,
    },
}

/// The body of a listener's answer, not yet sent.
#[derive(Debug)]
pub struct LiveBody(Box<Pump>);

impl LiveBody {
    /// Sends the body in pieces, as fast as they are taken, until either side ends it. The channel's capacity
    /// bounds what is buffered between the lane and the client.
    pub async fn feed(self, pieces: mpsc::Sender<Bytes>) {
        self.0.run(pieces, None).await;
    }
}

/// Decides on a request for a stream that shares its connection with others.
///
/// `permit` is as for [`serve_plain`](crate::serve_plain).
pub async fn reply(
    context: &Context,
    target: Target,
    head: &Head,
    remote: impl Into<Remote>,
    permit: Permit,
) -> Reply {
    match decide(context, &target, head, remote.into(), Some(permit)).await {
        Decision::Answer(words) => Reply::Whole {
            status: words.status,
            bytes: words.bytes,
        },
        Decision::Listen(listen) => {
            let (head, pump) = follow(context, *listen);
            let body = LiveBody(Box::new(pump));
            Reply::Live { head, body }
        }
    }
}

fn follow(context: &Context, listen: Listen) -> (Bytes, Pump) {
    let Listen {
        record,
        head,
        intro,
        lane,
        refusal: _,
    } = listen;
    let reader = context.registry.fanout().follow(record, lane);
    (head, Pump { reader, intro })
}

/// Where a listener's bytes go.
trait Outlet: Send {
    /// Takes a piece.
    fn take(&mut self, bytes: Bytes) -> impl Future<Output = io::Result<()>> + Send;

    /// Sends on everything taken so far.
    fn flush(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// Resolves when the client has left.
    fn left(&mut self) -> impl Future<Output = ()> + Send;

    /// Closes in order.
    fn end(self) -> impl Future<Output = io::Result<()>> + Send;
}

/// A connection of the listener's own.
struct Connection<S>(S);

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Outlet for Connection<S> {
    async fn take(&mut self, bytes: Bytes) -> io::Result<()> {
        self.0.write_all(&bytes).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.0.flush().await
    }

    async fn left(&mut self) {
        let mut chatter = [0; CHATTER_BYTES];
        while !matches!(self.0.read(&mut chatter).await, Ok(0) | Err(_)) {}
    }

    async fn end(mut self) -> io::Result<()> {
        self.0.shutdown().await
    }
}

impl Outlet for mpsc::Sender<Bytes> {
    async fn take(&mut self, bytes: Bytes) -> io::Result<()> {
        let sent = self.send(bytes).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    async fn left(&mut self) {
        self.closed().await;
    }

    async fn end(self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Pump {
    reader: LogReader,
    /// What goes before the lane.
    intro: Bytes,
}

impl Pump {
    /// Sends the lane until either side ends it, and tells the reader why it ended.
    async fn run(mut self, mut outlet: impl Outlet, head: Option<Bytes>) {
        match self.send(&mut outlet, head).await {
            // The reader knows why the lane ended.
            End::Lane => {
                // It no longer matters whether the client receives the goodbye.
                if let Ok(Err(error)) = timeout(WRITE_STALLED_AFTER, outlet.end()).await {
                    tracing::trace!(%error, "the client closed first");
                }
            }
            End::Left => self.reader.ended_by(Reason::Left),
            End::Stalled => self.reader.ended_by(Reason::Lag),
        }
    }

    async fn send(&mut self, outlet: &mut impl Outlet, head: Option<Bytes>) -> End {
        let mut next = head;
        while !self.intro.is_empty() {
            let piece = self.intro.len().min(INTRO_PIECE_BYTES);
            let before = next.replace(self.intro.split_to(piece));
            if let Some(bytes) = before
                && let Err(end) = bounded(outlet.take(bytes)).await
            {
                return end;
            }
        }
        loop {
            let began = Instant::now();
            while let Some(bytes) = next {
                if let Err(end) = bounded(outlet.take(bytes)).await {
                    return end;
                }
                next = match self.reader.at_hand().await {
                    Some(Some(bytes)) => Some(bytes),
                    Some(None) => return End::Lane,
                    None => None,
                };
            }
            if let Err(end) = bounded(outlet.flush()).await {
                return end;
            }
            let resume = began + self.reader.window();
            if closed_before(outlet, sleep_until(resume)).await.is_none() {
                return End::Left;
            }
            next = match closed_before(outlet, self.reader.next()).await {
                Some(Some(bytes)) => Some(bytes),
                Some(None) => return End::Lane,
                None => return End::Left,
            };
        }
    }
}

/// What `event` gives, or `None` when the client closes first.
async fn closed_before<T>(outlet: &mut impl Outlet, event: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        outcome = event => Some(outcome),
        () = outlet.left() => None,
    }
}

/// Why a connection is over.
enum End {
    /// The lane has no more to give.
    Lane,
    /// The client closed.
    Left,
    /// The client took nothing for too long.
    Stalled,
}

async fn bounded(write: impl Future<Output = io::Result<()>>) -> Result<(), End> {
    match timeout(WRITE_STALLED_AFTER, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Left),
        Err(_) => Err(End::Stalled),
    }
}
