//! Ends of connections: recognising a peer's hang-up, and letting a peer read the reply that precedes the
//! server's close.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// Longest time that a peer may take to receive a reply. A reply is far smaller than any socket buffer, so
/// only a peer that reads nothing at all needs longer.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which a peer's bytes are read and dropped after the reply: a round trip to anywhere, and the time
/// an encoder takes to notice.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes dropped at once while draining.
const DRAIN_BYTES: usize = 4 * 1024;

/// Maps the ways in which peers hang up to the end of input. ffmpeg closes with the server's reply unread,
/// which resets the connection; others leave TLS without `close_notify`.
///
/// # Errors
/// Errors of `read` that are not a hang-up.
pub fn hung_up(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::UnexpectedEof
            ) =>
        {
            Ok(0)
        }
        read => read,
    }
}

/// Writes all of `bytes`, in bounded time.
///
/// # Errors
/// The peer has left, or takes nothing for [`WRITE_TIMEOUT`].
pub async fn write<S>(socket: &mut S, bytes: &[u8]) -> io::Result<()>
where
    S: AsyncWrite + Unpin,
{
    let sent = timeout(WRITE_TIMEOUT, async {
        socket.write_all(bytes).await?;
        socket.flush().await
    });
    sent.await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Sends `words` and closes. The peer's bytes are still read for a while: a socket that is closed with unread
/// input resets the connection, and the reset overtakes the reply.
pub async fn say<S>(mut socket: S, words: &[u8])
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if write(&mut socket, words).await.is_err() {
        return;
    }
    let mut scrap = [0; DRAIN_BYTES];
    // Bounded by time and not by bytes: a publisher continues at its own rate until it has read them.
    let drained = timeout(DRAIN_TIMEOUT, async {
        socket.shutdown().await?;
        while socket.read(&mut scrap).await? > 0 {}
        io::Result::Ok(())
    });
    if let Ok(Err(error)) = drained.await {
        tracing::trace!(%error, "the peer closed first");
    }
}
