//! Wait of a task that owns a connection: it reads and writes at the same time.
//!
//! Waiting to write never stops reading: a publisher that ignores acknowledgements continues to publish until
//! its unread replies reach the session's bound.

use std::io;
use std::time::Instant;

use crate::{closing, wait};
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::watch;

use crate::rtmp::RtmpConnection;

/// Bytes per read: a few frames of video, so that one read drains many chunks.
const READ_BYTES: usize = 64 * 1024;

/// A socket that a task reads and writes. Each wait is passed the conversation.
pub struct Exchange<'a, S> {
    reader: ReadHalf<&'a mut S>,
    writer: WriteHalf<&'a mut S>,
    leaving: &'a mut watch::Receiver<bool>,
    received: BytesMut,
}

/// Outcome of a wait.
#[derive(Debug)]
pub enum Step<T> {
    /// [`Exchange::received`] has new bytes.
    Received,
    /// The peer sends no more, or takes no more.
    HungUp,
    /// All output has been sent.
    Sent,
    /// The server is about to leave.
    Leaving,
    /// The deadline has come.
    Due,
    /// The other future is ready.
    Other(T),
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Exchange<'a, S> {
    /// Begins to use a socket. `leaving` becomes true when the server is about to leave.
    pub fn new(socket: &'a mut S, leaving: &'a mut watch::Receiver<bool>) -> Self {
        let (reader, writer) = tokio::io::split(socket);
        Self {
            reader,
            writer,
            leaving,
            received: BytesMut::with_capacity(READ_BYTES),
        }
    }

    /// Returns the bytes of the last [`Step::Received`].
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    /// Waits for whichever comes first: bytes, the end of sending the session's output, the server's leaving,
    /// `due`, or `other`. Earlier bytes are dropped from [`received`](Self::received).
    ///
    /// Nothing is lost if the wait is dropped: unwritten output stays in the session.
    ///
    /// # Errors
    /// The connection breaks.
    pub async fn next<C, T>(
        &mut self,
        connection: &mut RtmpConnection<C>,
        due: Option<Instant>,
        other: impl Future<Output = T>,
    ) -> io::Result<Step<T>> {
        let has_output = connection.has_output();
        let memory = connection.memory();
        connection.held.set(memory + self.received.capacity());
        let RtmpConnection {
            session,
            is_unflushed,
            ..
        } = connection;
        self.received.clear();
        let step = tokio::select! {
            read = self.reader.read_buf(&mut self.received) => match closing::hung_up(read)? {
                0 => Step::HungUp,
                _ => Step::Received,
            },
            sent = send(&mut self.writer, session.output(), is_unflushed), if has_output => {
                // If writing is tried before reading, the write detects that a peer has hung up.
                match closing::hung_up(sent.map(|()| 1))? {
                    0 => Step::HungUp,
                    _ => Step::Sent,
                }
            }
            value = other => Step::Other(value),
            () = wait::change(self.leaving) => Step::Leaving,
            () = wait::at(due) => Step::Due,
        };
        // Received bytes belong to the wait, and are read before the next one.
        let memory = connection.memory();
        connection.held.set(memory);
        Ok(step)
    }
}

/// Sends the output. Nothing is lost when the future is dropped in between.
async fn send<W>(writer: &mut W, output: &mut BytesMut, is_unflushed: &mut bool) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    while output.has_remaining() {
        *is_unflushed = true;
        if writer.write_buf(output).await? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    writer.flush().await?;
    *is_unflushed = false;
    Ok(())
}
