//! HLS over HTTP: requests as `egress-hls` takes them, and its answers.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use egress_hls::{Admission, Answer, Resource, Turned};
use fanout::Permit;
use hyper::body::{Frame, SizeHint};
use media::StreamName;

use super::Visitor;
use crate::door::limits::Limits;
use crate::drain::Drain;
use crate::node::Node;

/// Answers a request for a playlist or a piece.
pub(super) async fn answer(
    node: &Node,
    visitor: Visitor,
    stream: &StreamName,
    resource: &Resource,
    request: Request,
) -> Response {
    let request = egress_hls::Request {
        stream,
        resource,
        peer: visitor.peer,
        headers: request.headers(),
        query: request.uri().query().unwrap_or_default(),
    };
    let Answer {
        status,
        headers,
        body,
        ..
    } = egress_hls::answer(&node.hls, request).await;
    let mut response = Response::new(Body::new(Pieces(body.into())));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The server's limits, as viewers meet them.
pub(crate) struct Limited {
    pub(crate) limits: Arc<Limits>,
    pub(crate) drain: Arc<Drain>,
}

impl Admission for Limited {
    fn admit(&self, peer: SocketAddr) -> Result<Permit, Turned> {
        let permit = match self.drain.has_begun() {
            true => Err(crate::door::rejected::Rejected::Draining),
            false => self.limits.listener(peer.ip(), Instant::now()),
        };
        permit.map(Permit::new).map_err(|reason| Turned {
            reason: reason.to_string(),
            retry_after: self.drain.retry_after(),
        })
    }
}

/// A body of pieces.
struct Pieces(VecDeque<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}
