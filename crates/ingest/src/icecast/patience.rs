//! Waits for the gate while a source may go on sending, or leave.

use std::io;

use bytes::BytesMut;
use net::closing;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a body that are taken before its source is let in; what stands beyond it waits in the kernel. It
/// is four seconds of 128 kb/s, and a quarter of what a stranger may own.
const EARLY_BYTES_MAX: usize = 64 * 1024;

/// Waits for an answer, and reads on behind `early` meanwhile, so that a source which hangs up is noticed and
/// takes its question back. One that has filled what may be read is heard again with the answer, which comes
/// in bounded time.
///
/// # Errors
/// When the source is gone.
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
            // First, so that nothing is read where no one has to wait.
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
