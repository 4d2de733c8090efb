//! Serialization of replies to HTTP/1 bytes.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes};
use fanout::gate::Revocation;
use http::{StatusCode, header};
use http_body_util::BodyExt;
use http1::{HttpDate, Version};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::reply::Reply;
use crate::sendable::Sendable;

/// Time limit for a client to take one piece of a file, at most 64 KiB. A player that pauses for longer requests the rest when
/// it resumes.
pub(super) const PIECE_TIMEOUT: Duration = Duration::from_secs(60);

/// Grace period for a body to end by itself after its listener was revoked. After that the connection is cut, because the body
/// may be waiting for a client that takes nothing.
const CUT_AFTER: Duration = Duration::from_secs(1);

/// Parameters of a reply besides the response itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Terms {
    /// The client's version.
    pub(super) version: Version,
    /// Whether the method was `HEAD`, so that there is no body.
    pub(super) is_head: bool,
    /// Whether the connection may carry another request.
    pub(super) persists: bool,
    /// Whether the body lasts as long as the client takes it in pieces, each within [`PIECE_TIMEOUT`].
    pub(super) lasts: bool,
}

/// Framing that marks the end of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Framing {
    /// No body, whatever length the head announces.
    None,
    /// Body of this many bytes.
    Length(u64),
    /// Body that the last chunk ends.
    Chunked,
    /// Body that the end of the connection ends.
    Close,
}

impl Framing {
    fn of(reply: &Reply, terms: Terms) -> Self {
        let status = reply.status;
        let is_bare = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if terms.is_head || is_bare || status.is_informational() {
            return Self::None;
        }
        match reply.length() {
            Some(length) => Self::Length(length),
            None if terms.version == Version::Http11 => Self::Chunked,
            None => Self::Close,
        }
    }
}

/// Writes a reply. Returns whether the connection may carry another request.
///
/// # Errors
/// If the client is gone, or the body broke off: the connection cannot be used any more.
pub(super) async fn write<S: AsyncWrite + Unpin>(
    socket: &mut S,
    reply: Reply,
    terms: Terms,
    now: HttpDate,
) -> io::Result<bool> {
    let framing = Framing::of(&reply, terms);
    let persists = terms.persists && framing != Framing::Close;
    let mut head = Bytes::from(head(&reply, framing, Terms { persists, ..terms }, now));
    let mut body = reply.body;
    let mut left = match framing {
        Framing::None => {
            socket.write_all(&head).await?;
            socket.flush().await?;
            return Ok(persists);
        }
        Framing::Length(length) => Some(length),
        Framing::Chunked | Framing::Close => None,
    };
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        if data.is_empty() {
            continue;
        }
        if let Some(left) = &mut left {
            let rest = left.checked_sub(data.len() as u64);
            *left = rest.ok_or(io::ErrorKind::InvalidData)?;
        }
        let (size, end): (String, &[u8]) = match framing {
            Framing::Chunked => (format!("{:x}\r\n", data.len()), b"\r\n"),
            _ => (String::new(), b""),
        };
        // In one piece, without copying the data.
        let before = std::mem::take(&mut head).chain(size.as_bytes());
        let mut all = before.chain(data).chain(end);
        match terms.lasts {
            true => timeout(PIECE_TIMEOUT, socket.write_all_buf(&mut all)).await??,
            false => socket.write_all_buf(&mut all).await?,
        }
    }
    if left.is_some_and(|left| left > 0) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let end: &[u8] = match framing {
        Framing::Chunked => b"0\r\n\r\n",
        _ => b"",
    };
    socket.write_all_buf(&mut head.chain(end)).await?;
    socket.flush().await?;
    Ok(persists)
}

/// Writes a listener's reply for as long as the listener is allowed to receive it.
///
/// # Errors
/// The errors of `written`, or `ConnectionAborted` when the listener was cut off.
pub(super) async fn until_over<T>(
    written: impl Future<Output = io::Result<T>>,
    listener: Option<Revocation>,
) -> io::Result<T> {
    let Some(end) = listener else {
        return written.await;
    };
    let over = async {
        end.revoked().await;
        sleep(CUT_AFTER).await;
    };
    tokio::select! {
        written = written => written,
        () = over => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Writes a reply whose body the kernel sends. Returns whether the connection may carry another request.
///
/// # Errors
/// If the client is gone or takes nothing, the listener was revoked, or the file cannot be read.
pub(super) async fn write_file(
    socket: &mut TcpStream,
    reply: Reply,
    sendable: Sendable,
    terms: Terms,
    now: HttpDate,
) -> io::Result<bool> {
    let framing = Framing::of(&reply, terms);
    let persists = terms.persists && framing != Framing::Close;
    let head = head(&reply, framing, Terms { persists, ..terms }, now);
    timeout(PIECE_TIMEOUT, socket.write_all(&head)).await??;
    if framing != Framing::None {
        let ended = sendable.ended();
        tokio::select! {
            sent = sendable.transfer.send(socket, PIECE_TIMEOUT) => sent?,
            () = ended => return Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
    // The reply's body holds the permits with which its client was admitted.
    drop(reply);
    Ok(persists)
}

/// Builds the head of a reply. The headers about the body's length are decided here.
fn head(reply: &Reply, framing: Framing, terms: Terms, now: HttpDate) -> Vec<u8> {
    let (version, status) = (terms.version.of_reply(), reply.status);
    let reason = status.canonical_reason().unwrap_or_default();
    let mut out = format!("{version} {} {reason}\r\ndate: {now}\r\n", status.as_u16()).into_bytes();
    match (terms.version, terms.persists) {
        (Version::Http11, true) => {}
        (_, true) => out.extend_from_slice(b"connection: keep-alive\r\n"),
        (_, false) => out.extend_from_slice(b"connection: close\r\n"),
    }
    match framing {
        Framing::Length(length) => {
            out.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
        }
        Framing::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Framing::None | Framing::Close => {}
    }
    // For HEAD the length is the service's (RFC 9110 §8.6); 204 has none.
    let tells_length =
        terms.is_head && framing == Framing::None && status != StatusCode::NO_CONTENT;
    for (name, value) in &reply.headers {
        let is_ours = match *name {
            header::CONTENT_LENGTH => !tells_length,
            header::CONNECTION | header::DATE | header::TRANSFER_ENCODING => true,
            _ => false,
        };
        if !is_ours {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(b"\r\n");
    out
}

#[cfg(test)]
mod tests {
    use http::HeaderName;
    use http_body_util::Channel;

    use super::*;

    const TERMS: Terms = Terms {
        version: Version::Http11,
        is_head: false,
        persists: true,
        lasts: false,
    };

    async fn written(reply: Reply, terms: Terms) -> (String, io::Result<bool>) {
        let mut out = Vec::new();
        let outcome = write(&mut out, reply, terms, HttpDate(784_111_777)).await;
        let text = String::from_utf8(out).expect("text");
        let date = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
        assert!(text.contains(date), "{text}");
        (text.replace(date, ""), outcome)
    }

    /// A body whose length is not known before its end.
    async fn streamed(pieces: &[&'static str]) -> Reply {
        let (mut sender, channel) = Channel::<_, io::Error>::new(pieces.len().max(1));
        for piece in pieces {
            let data = Bytes::from_static(piece.as_bytes());
            sender.send_data(data).await.expect("room");
        }
        Reply::of(StatusCode::OK, channel)
    }

    #[tokio::test]
    async fn the_end_of_a_body_is_reported_as_the_client_understands() {
        let plain = || {
            Reply::text(StatusCode::OK, "words")
                .with(HeaderName::from_static("x-a"), "b")
                .with(header::CONNECTION, "x")
        };
        let type_ = "content-type: text/plain; charset=utf-8\r\nx-a: b\r\n\r\n";
        let (mut old, mut last) = (TERMS, TERMS);
        old.version = Version::Http10;
        last.persists = false;
        let whole = format!("content-length: 5\r\n{type_}words");
        let close = "connection: close\r\n";
        let keep = "connection: keep-alive\r\n";
        for (terms, expected, persists) in [
            (TERMS, format!("HTTP/1.1 200 OK\r\n{whole}"), true),
            (old, format!("HTTP/1.0 200 OK\r\n{keep}{whole}"), true),
            (last, format!("HTTP/1.1 200 OK\r\n{close}{whole}"), false),
        ] {
            let (text, outcome) = written(plain(), terms).await;
            assert_eq!((text, outcome.expect("written")), (expected, persists));
        }
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let (none, two) = ("0\r\n\r\n", "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n");
        let [none, two] = [none, two].map(|chunks| format!("{chunked}{chunks}"));
        let bare = format!("HTTP/1.0 200 OK\r\n{close}\r\nabcde");
        for (pieces, terms, expected, persists) in [
            (&["ab", "", "cde"][..], TERMS, two, true),
            (&["ab", "cde"], old, bare, false),
            (&[], TERMS, none, true),
        ] {
            let (text, outcome) = written(streamed(pieces).await, terms).await;
            assert_eq!((text, outcome.expect("written")), (expected, persists));
        }
    }

    #[tokio::test]
    async fn some_answers_have_no_body() {
        let terms = Terms {
            is_head: true,
            ..TERMS
        };
        let head = Reply::new(StatusCode::OK).with(header::CONTENT_LENGTH, "5");
        let (text, _) = written(head, terms).await;
        assert!(text.contains("\r\ncontent-length: 5\r\n") && text.ends_with("\r\n\r\n"));
        for status in [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED] {
            for is_head in [false, true] {
                let reply = Reply::text(status, "never seen");
                let (text, outcome) = written(reply, Terms { is_head, ..TERMS }).await;
                assert!(text.ends_with("\r\n\r\n"), "{text}");
                assert!(!text.contains("content-length: 10"), "{text}");
                assert!(outcome.expect("written"));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_may_hear_no_more_is_cut_off_though_it_takes_nothing() {
        let (mut near, _far) = tokio::io::duplex(64);
        let body = Reply::text(StatusCode::OK, "a".repeat(1_000));
        let terms = Terms {
            lasts: true,
            ..TERMS
        };
        let end = Revocation::default();
        let written = write(&mut near, body, terms, HttpDate(0));
        let written = until_over(written, Some(end.clone()));
        let revoked = async {
            sleep(PIECE_TIMEOUT / 2).await;
            end.revoke();
            sleep(PIECE_TIMEOUT).await;
        };
        tokio::select! {
            written = written => {
                let kind = written.map_err(|error| error.kind());
                assert_eq!(kind, Err(io::ErrorKind::ConnectionAborted));
            }
            () = revoked => panic!("it goes on"),
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_ends_the_connection() {
        let (sender, channel) = Channel::<Bytes, _>::new(1);
        sender.abort(io::Error::other("broken"));
        let reply = Reply::of(StatusCode::OK, channel);
        let mut out = Vec::new();
        let outcome = write(&mut out, reply, TERMS, HttpDate(0)).await;
        assert!(outcome.is_err(), "{}", out.escape_ascii());
    }
}
