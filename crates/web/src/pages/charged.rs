//! Charging of replies made for one client: the memory is charged to the client's address until its socket has taken the reply.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use base::holdings::{Held, Kind};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use limits::Rejected;

use crate::refusal;
use crate::reply::{Body, Reply};
use crate::request::Request;

/// Charges a reply whose text is in memory for its client alone, or refuses it if the client's address has used up its share.
pub(super) fn charge(request: &Request<'_>, reply: Reply) -> Reply {
    let bytes = reply.length().unwrap_or_default();
    if bytes == 0 {
        return reply;
    }
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let (front, peer) = (request.front, request.visitor.peer);
    match front.holdings.take(Kind::Answers, peer.ip(), bytes) {
        Some(held) => Reply {
            body: Charged {
                body: reply.body,
                held,
            }
            .boxed_unsync(),
            ..reply
        },
        None => refusal::limited(Rejected::Holdings, &front.admission, peer),
    }
}

/// Body, and the charge for the part not yet handed out. Each piece handed out carries its own charge.
struct Charged {
    body: Body,
    held: Held,
}

impl HttpBody for Charged {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = Pin::new(&mut self.body).poll_frame(cx);
        next.map_ok(|frame| {
            frame.map_data(|data| {
                let held = self.held.split(data.len());
                held.over(data)
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use base::holdings::Holdings;
    use http::StatusCode;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_charged_until_its_last_piece_is_taken() {
        let account = Holdings::new(1 << 20);
        let here = IpAddr::from([192, 0, 2, 1]);
        let held = account.take(Kind::Answers, here, 5).expect("a share");
        let body = Reply::text(StatusCode::OK, "words").body;
        let mut charged = Charged { body, held };
        assert_eq!(charged.size_hint().exact(), Some(5));
        let piece = charged.frame().await.expect("a piece").expect("no error");
        drop(charged);
        assert_eq!(account.bytes(Kind::Answers), 5);
        drop(piece);
        assert_eq!(account.bytes(Kind::Answers), 0);
    }
}
