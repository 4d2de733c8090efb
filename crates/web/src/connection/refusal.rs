//! Replies to requests and connections that the door refuses.

use std::time::SystemTime;

use http1::{HttpDate, ResponseHead, Sniff, Status, Version};
use limits::Rejected;
use tokio::net::TcpStream;

use super::{Asked, LiveTransport};
use crate::front_door::FrontDoor;
use crate::head::{self, NoHead};
use crate::refusal::status_of_limit;

/// Reply to a SHOUTcast v1 source, in place of `OK2`.
const SHOUTCAST: &[u8] =
    b"SHOUTcast v1 is not supported on this port. Choose Icecast 2 in your encoder, or the port of [shoutcast].\r\n";

/// Refuses a connection beyond the limits without waiting for it. The reply may be lost.
pub fn refuse_unread(front: &FrontDoor, socket: &TcpStream, reason: Rejected) {
    let words = reason.to_string();
    let answer = plain(front, Version::Http11, status_of_limit(reason), &words);
    if let Err(error) = socket.try_write(&answer) {
        tracing::debug!(%error, "a refusal could not be written");
    }
}

/// Refuses a request that exceeds a limit or a deadline.
pub(super) async fn refuse<S: LiveTransport>(
    front: &FrontDoor,
    socket: S,
    asked: &Asked,
    reason: Rejected,
) {
    front.counts.reject(reason, asked.peer);
    let status = status_of_limit(reason);
    say(front, socket, asked, status, &reason.to_string()).await;
}

/// Refuses a request that is malformed, or that a proxy may have parsed differently. The bytes after it are not read as another
/// request.
pub(super) async fn refuse_malformed<S: LiveTransport>(
    front: &FrontDoor,
    socket: S,
    asked: &Asked,
    error: http1::Error,
) {
    let counts = &front.counts;
    counts.reject_for(Rejected::HeadMalformed, asked.peer, &error);
    let status = http1::status_of(error);
    say(front, socket, asked, status, &error.to_string()).await;
}

/// Answers bytes that are not a request.
pub(super) async fn refuse_headless<S: LiveTransport>(
    front: &FrontDoor,
    socket: S,
    asked: &Asked,
    no_head: NoHead,
) {
    let peer = asked.peer;
    match no_head {
        NoHead::Gone => {}
        NoHead::Malformed(error) => refuse_malformed(front, socket, asked, error).await,
        NoHead::Other(Sniff::Http2Preface) => {
            let detail = "HTTP/2 on an HTTP port";
            front.counts.reject_for(Rejected::Protocol, peer, &detail);
            let text = "HTTP/2 is not served without TLS; use HTTP/1.1.";
            say(front, socket, asked, Status::VERSION_NOT_SUPPORTED, text).await;
        }
        NoHead::Other(spoken) => {
            let detail = format!("{spoken} on an HTTP port");
            front.counts.reject_for(Rejected::Protocol, peer, &detail);
            if spoken == Sniff::Shoutcast {
                head::answer(socket, SHOUTCAST).await;
            }
        }
    }
}

/// Replies with a line of text, and closes the connection.
pub(super) async fn say<S: LiveTransport>(
    front: &FrontDoor,
    socket: S,
    asked: &Asked,
    status: Status,
    text: &str,
) {
    let bytes = plain(front, asked.version, status, text);
    asked.log_answer(front, &bytes);
    head::answer(socket, &bytes).await;
}

/// Builds a reply of one line of text, after which the connection ends.
pub(super) fn plain(front: &FrontDoor, version: Version, status: Status, text: &str) -> Vec<u8> {
    let head = ResponseHead::new(version, status)
        .header("Server", &front.config.http.server_header)
        .date(HttpDate::from(SystemTime::now()))
        .header("Content-Type", "text/plain; charset=utf-8")
        .headers(http1::NO_CACHE)
        .headers(http1::CORS)
        .header("Connection", "close");
    let head = match status {
        Status::SERVICE_UNAVAILABLE | Status::TOO_MANY_REQUESTS => {
            head.header("Retry-After", &front.drain.retry_after().to_string())
        }
        _ => head,
    };
    let mut bytes = head.content_length(text.len() as u64 + 1).finish();
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(b'\n');
    bytes
}
