//! TLS connection of a task: bytes in and out, as of a socket.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::layer::RecordLayer;
use super::writer::{CONTROL_BYTES_MAX, SEALED_RECORD_BYTES_MAX, sealed_bytes_max};
use base::holdings::Held;

/// Bytes per receive.
const READ_BYTES: usize = 16 * 1024;

/// Most sealed bytes that may wait for the socket: two records, so that one is ready when the other is taken.
const OUTBOX_BYTES: usize = 2 * SEALED_RECORD_BYTES_MAX;

/// TLS connection of a task. It holds no buffers while nothing is in transit.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    layer: Box<RecordLayer>,
    /// Protocol that the handshake agreed on (ALPN, RFC 7301).
    protocol: Option<Box<[u8]>>,
    /// Sealed bytes that the socket has not taken yet.
    outbox: Vec<u8>,
    /// Number of bytes in `outbox` that the socket took.
    taken: usize,
}

impl Stream {
    pub(super) fn new(
        socket: TcpStream,
        layer: Box<RecordLayer>,
        protocol: Option<Box<[u8]>>,
    ) -> Self {
        Self {
            socket,
            layer,
            protocol,
            outbox: Vec::new(),
            taken: 0,
        }
    }

    /// Rebuilds a connection from its [parts](Self::into_parts).
    pub fn from_parts(socket: TcpStream, layer: Box<RecordLayer>) -> Self {
        Self::new(socket, layer, None)
    }

    /// Splits the connection into the socket and its record layer.
    ///
    /// # Errors
    /// Some written bytes have not been flushed.
    pub fn into_parts(self) -> io::Result<(TcpStream, Box<RecordLayer>)> {
        match self.outbox.is_empty() {
            true => Ok((self.socket, self.layer)),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Counts the connection's memory from now on.
    pub fn charge(&mut self, held: Held) {
        self.layer.charge(held);
    }

    fn weigh(&mut self) {
        self.layer.weigh(self.outbox.capacity());
    }

    /// Returns the protocol that the client requested and the server accepted.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.protocol.as_deref()
    }

    /// Sends the sealed bytes, the connection's own records included.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            while self.taken < self.outbox.len() {
                let socket = Pin::new(&mut self.socket);
                match ready!(socket.poll_write(cx, &self.outbox[self.taken..]))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    count => self.taken += count,
                }
            }
            (self.outbox, self.taken) = (Vec::new(), 0);
            if !self.layer.has_controls() {
                return Poll::Ready(Ok(()));
            }
            self.seal(&[])?;
        }
    }

    /// Seals as much as fits. Nothing waits for the socket.
    fn seal(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let room: usize = slices
            .iter()
            .map(|slice| sealed_bytes_max(slice.len()))
            .sum();
        let room = room.clamp(sealed_bytes_max(CONTROL_BYTES_MAX), OUTBOX_BYTES);
        self.outbox.resize(room, 0);
        let sealed = self.layer.seal(slices, &mut self.outbox)?;
        self.outbox.truncate(sealed.wire_bytes);
        Ok(self.layer.advance(&sealed, sealed.wire_bytes)?)
    }

    /// Receives until there is something, or the end.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.layer.received().is_empty() && !self.layer.is_ended() {
            let mut memory = [0; READ_BYTES];
            let mut buffer = ReadBuf::new(&mut memory);
            ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            let received = self.layer.receive(buffer.filled());
            if self.layer.has_controls() {
                // A reply to the received bytes. One that finds no room is sent with the next write.
                match self.poll_send(cx) {
                    Poll::Ready(Err(error)) if received.is_ok() => return Poll::Ready(Err(error)),
                    _ => {}
                }
            }
            received?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = self.poll_receive(cx);
        if let Poll::Ready(Ok(())) = polled {
            let received = self.layer.received();
            let count = received.len().min(buffer.remaining());
            buffer.put_slice(&received[..count]);
            self.layer.consume(count);
        }
        self.weigh();
        polled
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_send(cx))?;
        let taken = self.seal(slices)?;
        // Bytes for which the socket has no room are sent with the next ones, or by a flush.
        let sent = self.poll_send(cx);
        self.weigh();
        match sent {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(taken)),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = self.poll_send(cx);
        self.weigh();
        sent
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.layer.close();
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
