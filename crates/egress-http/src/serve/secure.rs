//! A listener behind TLS: a task that follows the lane.
//!
//! ```text
//!  ┌► write all there is ─► pause ─► wait for more ─┐      the client closing ends it at once,
//!  └────────────────────────────────────────────────┘      except within a write
//! ```
//!
//! The pause is [`LogReader::window`].

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use fanout::{LogReader, Permit, Reason};
use http1::Head;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout};

use super::decide::{Decision, Listen, decide};
use super::{Context, Outcome, answer};
use crate::Target;

/// How long one write may take to go out; the same patience as for a plain socket.
const WRITE_STALLED_AFTER: Duration = net::tcp::USER_TIMEOUT;

/// A client that keeps talking while it listens is read in pieces of this size, and not heard.
const CHATTER_BYTES: usize = 256;

/// Serves a request for a stream, on any connection, until it ends.
///
/// `permit` is as for [`serve_plain`](crate::serve_plain).
pub async fn serve_secure<S>(
    context: &Context,
    socket: S,
    target: Target,
    head: Head,
    peer: SocketAddr,
    permit: Option<Permit>,
) -> Outcome
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match decide(context, target, &head, peer, permit).await {
        Decision::Answer(words) => answer(socket, words).await,
        Decision::Listen(listen) => {
            let Listen {
                record,
                head,
                lane,
                refusal: _,
            } = *listen;
            let id = record.id;
            let mut connection = Connection {
                socket,
                reader: context.registry.fanout().follow(record, lane),
            };
            connection.run(head).await;
            Outcome::Listening(id)
        }
    }
}

struct Connection<S> {
    socket: S,
    reader: LogReader,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Sends the lane until either side ends it, and tells the reader why it ended.
    async fn run(&mut self, head: Bytes) {
        let end = self.send(head).await;
        match end {
            // The reader knows why the lane ended.
            End::Lane => {
                // Whether the client hears the goodbye does not matter any more.
                if let Ok(Err(error)) = timeout(WRITE_STALLED_AFTER, self.socket.shutdown()).await {
                    tracing::trace!(%error, "the client closed first");
                }
            }
            End::Left => self.reader.ended_by(Reason::Left),
            End::Stalled => self.reader.ended_by(Reason::Lag),
        }
    }

    async fn send(&mut self, head: Bytes) -> End {
        let mut next = Some(head);
        loop {
            let began = Instant::now();
            while let Some(bytes) = next {
                if let Err(end) = self.write(&bytes).await {
                    return end;
                }
                next = match self.reader.at_hand().await {
                    Some(Some(bytes)) => Some(bytes),
                    Some(None) => return End::Lane,
                    None => None,
                };
            }
            if let Err(end) = bounded(self.socket.flush()).await {
                return end;
            }
            let resume = began + self.reader.window();
            if Self::closed_before(&mut self.socket, sleep_until(resume))
                .await
                .is_none()
            {
                return End::Left;
            }
            next = match Self::closed_before(&mut self.socket, self.reader.next()).await {
                Some(Some(bytes)) => Some(bytes),
                Some(None) => return End::Lane,
                None => return End::Left,
            };
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), End> {
        bounded(self.socket.write_all(bytes)).await
    }

    /// What `event` gives, or `None` when the client closes first.
    async fn closed_before<T>(socket: &mut S, event: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(event);
        let mut chatter = [0; CHATTER_BYTES];
        loop {
            tokio::select! {
                biased;
                outcome = &mut event => return Some(outcome),
                read = socket.read(&mut chatter) => match read {
                    Ok(0) | Err(_) => return None,
                    Ok(_) => {}
                },
            }
        }
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
