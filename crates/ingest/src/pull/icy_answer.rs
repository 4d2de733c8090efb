//! Adapter that turns replies beginning with `ICY 200 OK`, as SHOUTcast servers send them, into HTTP/1.0
//! replies.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Beginning of such a reply.
const ICY: [u8; 4] = *b"ICY ";

/// Its replacement in HTTP: in both protocols the body ends with the connection.
const HTTP: &[u8] = b"HTTP/1.0 ";

/// A connection whose reply begins with either.
#[derive(Debug)]
pub(super) struct IcyAnswer<S> {
    inner: S,
    beginning: Beginning,
}

#[derive(Debug)]
enum Beginning {
    /// The first bytes, which may be [`ICY`].
    Arriving([u8; 4], usize),
    /// Bytes to be returned before anything else is read.
    Held(Vec<u8>),
    Over,
}

impl<S> IcyAnswer<S> {
    pub(super) fn new(inner: S) -> Self {
        Self {
            inner,
            beginning: Beginning::Arriving([0; 4], 0),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IcyAnswer<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            match &mut this.beginning {
                Beginning::Over => return Pin::new(&mut this.inner).poll_read(cx, buffer),
                Beginning::Held(held) => {
                    let count = held.len().min(buffer.remaining());
                    buffer.put_slice(&held[..count]);
                    held.drain(..count);
                    if held.is_empty() {
                        this.beginning = Beginning::Over;
                    }
                    return Poll::Ready(Ok(()));
                }
                Beginning::Arriving(first, arrived) => {
                    let mut rest = ReadBuf::new(&mut first[*arrived..]);
                    ready!(Pin::new(&mut this.inner).poll_read(cx, &mut rest))?;
                    let is_closed = rest.filled().is_empty();
                    *arrived += rest.filled().len();
                    let held = match *first == ICY {
                        true => HTTP,
                        false => &first[..*arrived],
                    };
                    if is_closed && held.is_empty() {
                        return Poll::Ready(Ok(()));
                    }
                    if is_closed || *arrived == ICY.len() || !ICY.starts_with(held) {
                        this.beginning = Beginning::Held(held.to_vec());
                    }
                }
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IcyAnswer<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Returns the bytes read of a reply that arrives in pieces of `piece` bytes.
    async fn read(answer: &[u8], piece: usize) -> Vec<u8> {
        let (mut server, client) = tokio::io::duplex(piece);
        let answer = answer.to_vec();
        let sent = tokio::spawn(async move {
            server.write_all(&answer).await.expect("sent");
        });
        let mut text = Vec::new();
        let mut client = IcyAnswer::new(client);
        client.read_to_end(&mut text).await.expect("read");
        sent.await.expect("no panic");
        text
    }

    #[tokio::test]
    async fn only_the_first_word_is_another_however_it_comes() {
        for piece in 1..9 {
            for (answer, expected) in [
                ("ICY 200 OK\r\nICY ", "HTTP/1.0 200 OK\r\nICY "),
                ("HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n"),
                ("ICX 200", "ICX 200"),
                ("IC", "IC"),
                ("", ""),
            ] {
                let text = read(answer.as_bytes(), piece).await;
                assert_eq!(text, expected.as_bytes(), "{piece}");
            }
        }
    }
}
