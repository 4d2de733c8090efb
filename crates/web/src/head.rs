//! Reading of a connection's input: its first bytes, request heads, and the bodies of requests that are answered at once.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use http1::{Body, BodyDecoder, Head, HeadReader, Sniff, Step};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Size of one read before the protocol is known; most heads fit.
const READ_BYTES: usize = 2 * 1024;

/// Bytes read of a body that is too long before it is answered: a client that is still sending when the connection closes does
/// not see the reply.
pub(crate) const DISCARDED_BYTES_MAX: usize = 256 * 1024;

/// Bytes that a client may still send after the reply, and the time during which they are read: closing a socket with unread
/// bytes makes the kernel discard the reply as well.
const LINGER_BYTES_MAX: usize = 64 * 1024;
const LINGER: std::time::Duration = std::time::Duration::from_secs(1);

/// Reason why there is no head.
#[derive(Debug)]
pub enum NoHead {
    /// The peer left, or the connection broke, before it sent anything that needs a reply.
    Gone,
    /// A protocol other than HTTP/1.
    Other(Sniff),
    /// Malformed HTTP/1.
    Malformed(http1::Error),
}

/// Reads until the protocol is known. Returns the protocol and all bytes read.
pub async fn sniff<S: AsyncRead + Unpin>(socket: &mut S) -> io::Result<(Sniff, BytesMut)> {
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

/// Writes a whole reply and closes, so that the client can read it even if it is still sending.
pub async fn answer<S>(mut socket: S, bytes: &[u8])
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

/// Bytes that have arrived on a connection and are not parsed yet: the start of a head, of a body, or of the next request. They
/// are no longer than one read.
#[derive(Debug)]
pub struct Inbox(BytesMut);

impl Inbox {
    /// Reads the first bytes, which must be those of HTTP/1. The caller sets the deadline.
    pub async fn open<S: AsyncRead + Unpin>(socket: &mut S) -> Result<Self, NoHead> {
        let (kind, received) = sniff(socket).await.map_err(|_| NoHead::Gone)?;
        match kind {
            Sniff::Http => Ok(Self(received)),
            Sniff::NeedMore => Err(NoHead::Gone),
            other => Err(NoHead::Other(other)),
        }
    }

    /// Reads one request head; reports the number of its bytes so far to `count`. The caller sets the deadline.
    pub async fn head<S: AsyncRead + Unpin>(
        &mut self,
        socket: &mut S,
        mut count: impl FnMut(usize),
    ) -> Result<Head, NoHead> {
        let mut reader = HeadReader::default();
        let mut bytes = 0;
        loop {
            bytes += self.0.len();
            count(bytes);
            let pushed = reader.push(&self.0).map_err(NoHead::Malformed)?;
            if let Some((head, used)) = pushed {
                self.0.advance(used);
                return Ok(head);
            }
            // The parser has the bytes, and refuses a head that is too long.
            self.0.clear();
            if !self.fill(socket).await.map_err(|_| NoHead::Gone)? {
                return Err(NoHead::Gone);
            }
        }
    }

    /// Reads a body and keeps at most `kept_max` bytes of it; reports the bytes held to `count`. The caller sets the deadline.
    pub async fn body<S: AsyncRead + Unpin>(
        &mut self,
        socket: &mut S,
        body: Body,
        kept_max: usize,
        mut count: impl FnMut(usize),
    ) -> Result<Taken, NoBody> {
        let mut decoder = BodyDecoder::strict(body);
        let mut taken = Taken::default();
        let mut seen = 0;
        loop {
            let mut input = &self.0[..];
            let step = decoder.step(&mut input).map_err(NoBody::Malformed)?;
            match step {
                Step::End => taken.is_whole = true,
                Step::Data(data) => {
                    seen += data.len();
                    let room = kept_max - taken.kept.len();
                    taken.kept.extend_from_slice(&data[..data.len().min(room)]);
                }
                Step::NeedMore => {}
            }
            let (is_over, used) = (step == Step::End, self.0.len() - input.len());
            self.0.advance(used);
            if is_over || seen > DISCARDED_BYTES_MAX {
                return Ok(taken);
            }
            if self.0.is_empty() && !decoder.may_close() {
                count(taken.kept.capacity());
                let filled = self.fill(socket).await;
                if !filled.unwrap_or_default() {
                    return Err(NoBody::Cut);
                }
            }
        }
    }

    /// Waits until a request has begun; returns false when the peer leaves instead. The caller sets the deadline.
    pub async fn request<S: AsyncRead + Unpin>(&mut self, socket: &mut S) -> io::Result<bool> {
        while self.is_blank() {
            if !self.fill(socket).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether no byte of a request is here. Old browsers send an empty line after a body, which does not count.
    pub fn is_blank(&self) -> bool {
        b"\r\n".starts_with(&self.0)
    }

    /// Creates an inbox with bytes that another reader of the connection has left.
    pub fn with(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// Returns all bytes, for the next reader of the connection.
    pub fn into_bytes(self) -> Bytes {
        self.0.freeze()
    }

    /// Reads once; returns false when the peer has closed.
    async fn fill<S: AsyncRead + Unpin>(&mut self, socket: &mut S) -> io::Result<bool> {
        self.0.reserve(READ_BYTES);
        Ok(socket.read_buf(&mut self.0).await? > 0)
    }
}

/// Body, or the start of one.
#[derive(Debug, Default)]
pub struct Taken {
    /// First bytes, up to the number wanted.
    pub kept: Vec<u8>,
    /// Whether the body's end has arrived, so that the next request follows it.
    pub is_whole: bool,
}

/// Reason why there is no body.
#[derive(Debug)]
pub enum NoBody {
    /// The peer left before the end of the body.
    Cut,
    /// Broken framing.
    Malformed(http1::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(mut socket: impl AsyncRead + Unpin) -> Result<Head, NoHead> {
        let mut inbox = Inbox::open(&mut socket).await?;
        inbox.head(&mut socket, |_| {}).await
    }

    #[tokio::test]
    async fn requests_are_read_one_after_another_however_they_are_cut() {
        let both = b"POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody\
            \r\nPATCH /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\nrest";
        for cut in 1..both.len() {
            let (mut near, mut far) = tokio::io::duplex(64);
            let client = async {
                far.write_all(&both[..cut]).await.expect("room");
                tokio::task::yield_now().await;
                far.write_all(&both[cut..]).await.expect("room");
                drop(far);
            };
            let server = async {
                let mut inbox = Inbox::open(&mut near).await.expect("HTTP");
                for (method, kept_max) in [("POST", 64), ("PATCH", 3)] {
                    assert!(inbox.request(&mut near).await.expect("open"));
                    let head = inbox.head(&mut near, |_| {}).await.expect("a head");
                    assert_eq!(head.method(), method, "cut at {cut}");
                    let taken = inbox.body(&mut near, head.body(), kept_max, |_| {}).await;
                    let taken = taken.expect("a body");
                    assert!(taken.is_whole);
                    assert_eq!(taken.kept, b"body"[..kept_max.min(4)], "cut at {cut}");
                }
                let mut rest = inbox.into_bytes().to_vec();
                near.read_to_end(&mut rest).await.expect("the rest");
                assert_eq!(rest, b"rest", "cut at {cut}");
            };
            tokio::join!(server, client);
        }
    }

    #[tokio::test]
    async fn bodies_that_do_not_end_are_distinguished() {
        type Expected = fn(&Result<Taken, NoBody>) -> bool;
        let whole: Expected = |taken| matches!(taken, Ok(taken) if taken.is_whole);
        let cut: Expected = |taken| matches!(taken, Err(NoBody::Cut));
        let malformed: Expected = |taken| matches!(taken, Err(NoBody::Malformed(_)));
        let partial: Expected =
            |taken| matches!(taken, Ok(taken) if !taken.is_whole && taken.kept.len() == 7);
        let long = [b'x'; 2 * DISCARDED_BYTES_MAX];
        let cases: [(Body, &[u8], Expected); 5] = [
            (Body::None, b"", whole),
            (Body::Length(5), b"abcd", cut),
            (Body::Chunked, b"5\r\nab", cut),
            (Body::Chunked, b"+5\r\nab", malformed),
            (Body::Length(u64::MAX), &long, partial),
        ];
        for (body, mut bytes, expected) in cases {
            let mut inbox = Inbox(BytesMut::new());
            let taken = inbox.body(&mut bytes, body, 7, |_| {}).await;
            assert!(expected(&taken), "{body:?}: {taken:?}");
        }
    }

    #[tokio::test]
    async fn what_is_no_head_is_distinguished() {
        type Expected = fn(&NoHead) -> bool;
        let gone: Expected = |no| matches!(no, NoHead::Gone);
        let rtmp: Expected = |no| matches!(no, NoHead::Other(Sniff::Rtmp));
        let tls: Expected = |no| matches!(no, NoHead::Other(Sniff::Tls));
        let malformed: Expected = |no| matches!(no, NoHead::Malformed(_));
        let cases: [(&[u8], Expected); 5] = [
            (b"", gone),
            (b"GET / HTT", gone),
            (b"\x03\0\0\0\0", rtmp),
            (b"\x16\x03\x01", tls),
            (b"GET / HTTP/9.9\r\n\r\n", malformed),
        ];
        for (bytes, expected) in cases {
            let no = read(bytes).await.expect_err("no head");
            assert!(expected(&no), "{no:?}");
        }
    }

    #[tokio::test]
    async fn an_endless_head_ends() {
        let endless = AsyncReadExt::chain(&b"GET / HTTP/1.1\r\nA: "[..], tokio::io::repeat(b'A'));
        let no = read(endless).await.expect_err("too long");
        let is_long = matches!(no, NoHead::Malformed(http1::Error::HeadTooLong));
        assert!(is_long, "{no:?}");
        let endless = AsyncReadExt::chain(&b"GET / HTTP/1.1\r\n"[..], tokio::io::repeat(b'\n'));
        assert!(read(endless).await.is_ok(), "an empty line ends it");
    }
}
