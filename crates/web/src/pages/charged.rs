//! A page's answer as its client has it made for it: charged to its address until its socket has taken it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use limits::Rejected;
use net::holdings::{Held, Kind};

use super::playbacks::Refused;
use crate::front_door::FrontDoor;
use crate::page::Page;
use crate::visitor::Visitor;

/// Charges an answer whose text is in memory for its client alone, or refuses it if its address has its share.
pub(super) fn charge(
    front: &FrontDoor,
    visitor: Visitor,
    page: &Page,
    response: Response,
) -> Response {
    // What lasts is read as it is sent, a script is there for all, and HLS charges its own.
    if page.lasts() || matches!(page, Page::Asset(_) | Page::Hls(..)) {
        return response;
    }
    let bytes = response.body().size_hint().exact().unwrap_or_default();
    if bytes == 0 {
        return response;
    }
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let address = visitor.peer.ip();
    match front.holdings.take(Kind::Answers, address, bytes) {
        Some(held) => response.map(|body| Body::new(Charged { body, held })),
        None => Refused::Rejected(Rejected::Holdings).answer(&front.admission, visitor),
    }
}

/// A body, and the charge of what was not handed out. Each piece has its own.
struct Charged {
    body: Body,
    held: Held,
}

impl HttpBody for Charged {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
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

    use http_body_util::BodyExt;
    use net::holdings::Holdings;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_charged_until_its_last_piece_is_taken() {
        let account = Holdings::new(1 << 20);
        let here = IpAddr::from([192, 0, 2, 1]);
        let held = account.take(Kind::Answers, here, 5).expect("a share");
        let body = Body::from("words");
        let mut charged = Charged { body, held };
        assert_eq!(charged.size_hint().exact(), Some(5));
        let piece = charged.frame().await.expect("a piece").expect("no error");
        drop(charged);
        assert_eq!(account.bytes(Kind::Answers), 5);
        drop(piece);
        assert_eq!(account.bytes(Kind::Answers), 0);
    }
}
