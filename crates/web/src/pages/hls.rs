//! HLS over HTTP: converts requests for `egress-hls`, and its replies.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use egress_hls::{Answer, Resource, Rest};
use hyper::body::{Frame, SizeHint};
use media::StreamName;

use super::finish;
use crate::reply::Reply;
use crate::request::Request;

/// Answers a request for a playlist or a piece.
pub(super) async fn answer(
    request: &Request<'_>,
    (stream, resource): (&StreamName, &Resource),
) -> Reply {
    let asked = egress_hls::Request {
        stream,
        resource,
        peer: request.visitor.peer,
        country: request.visitor.country,
        headers: &request.headers,
        query: request.query(),
    };
    let Answer {
        status,
        headers,
        body,
        rest,
        ..
    } = egress_hls::answer(&request.front.hls, asked).await;
    let pieces = Pieces {
        first: body.into(),
        rest,
    };
    Reply {
        headers,
        ..Reply::of(status, pieces)
    }
}

/// Returns the complete reply to a `GET` over HTTP/1, without the steps taken for other pages: players request a part and a
/// playlist twice a second, and those steps would cost more than finding the piece.
pub(crate) async fn answer_directly(
    request: &Request<'_>,
    wanted: (&StreamName, &Resource),
) -> Reply {
    let mut reply = answer(request, wanted).await;
    finish::complete(request.front, &mut reply);
    reply
}

/// Body of pieces at hand, and of the rest that follows them.
struct Pieces {
    first: VecDeque<Bytes>,
    rest: Option<Rest>,
}

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(piece) = self.first.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        let next = match &mut self.rest {
            Some(rest) => ready!(rest.poll_next(cx)),
            None => None,
        };
        Poll::Ready(next.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.rest.as_ref().is_none_or(|rest| rest.left() == 0)
    }

    fn size_hint(&self) -> SizeHint {
        let first: u64 = self.first.iter().map(|piece| piece.len() as u64).sum();
        SizeHint::with_exact(first + self.rest.as_ref().map_or(0, Rest::left))
    }
}
