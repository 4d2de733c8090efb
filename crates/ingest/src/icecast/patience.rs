//! Waits for the gate while a source may continue sending, or leave.

use std::io;

use bytes::BytesMut;
use net::closing;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a body that are read before its source is admitted; the rest waits in the kernel. Equals four
/// seconds of 128 kb/s, and a quarter of what an unauthenticated client may use.
const EARLY_BYTES_MAX: usize = 64 * 1024;

/// Waits for an answer and meanwhile appends the received bytes to `early`, so that a source that hangs up is
/// noticed and its request withdrawn. A source that has filled this buffer is read again only after the
/// answer, which arrives in bounded time.
///
/// # Errors
/// The source has closed or lost its connection.
pub(super) async fn wait_for<S, T>(
    socket: &mut S,
    early: &mut BytesMut,
    answer: impl Future<Output = T>,
) -> io::Result<T>
where
    S: AsyncRead + Unpin,
{
    tokio::pin!(answer);
    loop {
        tokio::select! {
            // First, so that nothing is read when the answer is ready.
            biased;
            answer = &mut answer => return Ok(answer),
            read = socket.read_buf(early), if early.len() < EARLY_BYTES_MAX => {
                if closing::hung_up(read)? == 0 {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            }
        }
    }
}
