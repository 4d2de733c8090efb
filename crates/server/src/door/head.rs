//! Reading what a connection wants: its first bytes, and a request head.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use http1::{Head, HeadReader, Sniff};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// One read before it is known what the connection wants; most heads fit.
const READ_BYTES: usize = 2 * 1024;

/// Bytes a client may still send after it was answered, and how long it is listened to: closing a
/// socket with unread bytes makes the kernel throw away the answer as well.
const LINGER_BYTES_MAX: usize = 64 * 1024;
const LINGER: std::time::Duration = std::time::Duration::from_secs(1);

/// A head that has arrived.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) head: Head,
    /// What came behind it: the beginning of a body.
    pub(super) early: Bytes,
    /// Everything that was read, head included, for a second reader.
    pub(super) raw: Bytes,
}

/// Why there is no head.
#[derive(Debug)]
pub(super) enum NoHead {
    /// The peer left, or the connection broke, before it said anything that needs an answer.
    Gone,
    /// It is no HTTP/1.
    Other(Sniff),
    /// It is, but not to be understood.
    Malformed(http1::Error),
}

/// Reads until it is known what protocol this is. Returns everything that was read.
pub(super) async fn sniff<S: AsyncRead + Unpin>(socket: &mut S) -> io::Result<(Sniff, BytesMut)> {
    let mut received = BytesMut::with_capacity(READ_BYTES);
    loop {
        if socket.read_buf(&mut received).await? == 0 {
            return Ok((Sniff::NeedMore, received));
        }
        match http1::sniff(&received) {
            Sniff::NeedMore => {}
            known => return Ok((known, received)),
        }
    }
}

/// Reads one request head. The caller sets the deadline.
pub(super) async fn read<S: AsyncRead + Unpin>(socket: &mut S) -> Result<Arrived, NoHead> {
    let (kind, mut received) = sniff(socket).await.map_err(|_| NoHead::Gone)?;
    match kind {
        Sniff::Http => {}
        Sniff::NeedMore => return Err(NoHead::Gone),
        other => return Err(NoHead::Other(other)),
    }
    let mut reader = HeadReader::default();
    let mut seen = 0;
    loop {
        let pushed = reader.push(&received[seen..]).map_err(NoHead::Malformed)?;
        if let Some((head, consumed)) = pushed {
            let raw = received.freeze();
            let early = raw.slice(seen + consumed..);
            return Ok(Arrived { head, early, raw });
        }
        // The reader refuses a head that is too long, which bounds this buffer.
        seen = received.len();
        if socket
            .read_buf(&mut received)
            .await
            .map_err(|_| NoHead::Gone)?
            == 0
        {
            return Err(NoHead::Gone);
        }
    }
}

/// Writes a whole answer and closes, so that the client can read it even if it is still sending.
pub(super) async fn answer<S>(mut socket: S, bytes: &[u8])
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let polite = async {
        socket.write_all(bytes).await?;
        socket.shutdown().await?;
        let mut rest = BytesMut::with_capacity(READ_BYTES);
        let mut left = LINGER_BYTES_MAX;
        while left > 0 {
            let count = socket.read_buf(&mut rest).await?;
            if count == 0 {
                break;
            }
            left = left.saturating_sub(count);
            rest.clear();
        }
        io::Result::Ok(())
    };
    if let Ok(Err(error)) = tokio::time::timeout(LINGER, polite).await {
        tracing::debug!(%error, "a client left before it was answered");
    }
}

/// A connection of which some bytes have been read already.
#[derive(Debug)]
pub(super) struct Prefixed<S> {
    before: Bytes,
    socket: S,
}

impl<S> Prefixed<S> {
    pub(super) fn new(before: Bytes, socket: S) -> Self {
        Self { before, socket }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.socket).poll_read(cx, buf);
        }
        let count = self.before.len().min(buf.remaining());
        buf.put_slice(&self.before[..count]);
        self.before.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prefixed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_head_is_read_however_it_was_cut_and_the_body_is_kept() {
        let request = b"PUT /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody";
        let end = request.len() - 4;
        for cut in 1..request.len() {
            let (mut near, mut far) = tokio::io::duplex(64);
            let client = async {
                far.write_all(&request[..cut]).await.expect("room");
                tokio::task::yield_now().await;
                far.write_all(&request[cut..]).await.expect("room");
            };
            let (arrived, ()) = tokio::join!(read(&mut near), client);
            let mut arrived = arrived.expect("a head");
            assert_eq!(arrived.head.method(), "PUT");
            assert_eq!(arrived.raw.len() - arrived.early.len(), end, "cut at {cut}");
            let mut body = BytesMut::from(&arrived.early[..]);
            drop(far);
            near.read_buf(&mut body).await.expect("the rest");
            assert_eq!(&body[..], b"body");
            // Whoever reads it again reads the same.
            let mut again = Vec::new();
            let raw = std::mem::take(&mut arrived.raw);
            Prefixed::new(raw, near)
                .read_to_end(&mut again)
                .await
                .expect("all");
            assert!(request.starts_with(&again));
        }
    }

    #[tokio::test]
    async fn what_is_no_head_is_told_apart() {
        type Expected = fn(&NoHead) -> bool;
        let cases: [(&[u8], Expected); 5] = [
            (b"", |no| matches!(no, NoHead::Gone)),
            (b"GET / HTT", |no| matches!(no, NoHead::Gone)),
            (b"\x03\0\0\0\0", |no| {
                matches!(no, NoHead::Other(Sniff::Rtmp))
            }),
            (b"\x16\x03\x01", |no| {
                matches!(no, NoHead::Other(Sniff::Tls))
            }),
            (b"GET / HTTP/9.9\r\n\r\n", |no| {
                matches!(no, NoHead::Malformed(_))
            }),
        ];
        for (mut bytes, expected) in cases {
            let no = read(&mut bytes).await.expect_err("no head");
            assert!(expected(&no), "{no:?}");
        }
    }

    #[tokio::test]
    async fn an_endless_head_ends() {
        let mut endless = tokio::io::repeat(b'A').take(0);
        assert!(matches!(read(&mut endless).await, Err(NoHead::Gone)));
        let mut endless =
            AsyncReadExt::chain(&b"GET / HTTP/1.1\r\nA: "[..], tokio::io::repeat(b'A'));
        let no = read(&mut endless).await.expect_err("too long");
        assert!(
            matches!(no, NoHead::Malformed(http1::Error::HeadTooLong)),
            "{no:?}"
        );
    }
}
