//! HLS over HTTP: requests as `egress-hls` takes them, and its answers.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use egress_hls::{Answer, Resource, Rest};
use hyper::body::{Frame, SizeHint};
use media::StreamName;

use super::finish;
use crate::front_door::FrontDoor;
use crate::visitor::Visitor;

/// Answers a request for a playlist or a piece.
pub(super) async fn answer(
    front: &FrontDoor,
    visitor: Visitor,
    (stream, resource): (&StreamName, &Resource),
    headers: &HeaderMap,
    query: &str,
) -> Response {
    let request = egress_hls::Request {
        stream,
        resource,
        peer: visitor.peer,
        country: visitor.country,
        headers,
        query,
    };
    let Answer {
        status,
        headers,
        body,
        rest,
        ..
    } = egress_hls::answer(&front.hls, request).await;
    let pieces = Pieces {
        first: body.into(),
        rest,
    };
    let mut response = Response::new(Body::new(pieces));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The complete answer to a `GET` over HTTP/1, without the service that answers other pages: players ask for a part and
/// a playlist twice a second, and what a service does for each request costs more than to find the piece.
pub async fn answer_directly(
    front: &FrontDoor,
    visitor: Visitor,
    wanted: (&StreamName, &Resource),
    headers: &HeaderMap,
    query: &str,
) -> Response {
    let mut response = answer(front, visitor, wanted, headers, query).await;
    finish::complete(front, &mut response);
    response
}

/// A body of pieces, and of what follows them.
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
