//! Files on demand: the gate, the limits, and the answer as `vod` gives it.
//!
//! A client that is sent a file is bounded as a listener, for as long as that lasts, and its connection does not give
//! way to others meanwhile.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use net::holdings::{Held, Kind};
use vod::{Address, Answer};

use super::lasting::Lasting;
use super::{Visitor, still};
use crate::door::limits::{Handover, ListenerPermit};
use crate::door::rejected::Rejected;
use crate::http::refusal;
use crate::node::Node;

/// Answers a request for a file.
pub(super) async fn answer(
    node: &Node,
    visitor: Visitor,
    handover: &Handover,
    address: &Address,
    request: Request,
) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    let permission = still::permit(&*node.gate, visitor, address.folder(), headers, uri).await;
    if let Err(denied) = permission {
        return still::refuse(denied);
    }
    let is_head = request.method() == Method::HEAD;
    let admitted = match admit(node, visitor, is_head) {
        Ok(admitted) => admitted,
        Err(reason) => return turn_away(node, visitor, reason),
    };
    let wanted = vod::Request {
        address,
        is_head,
        headers,
        query: uri.query().unwrap_or_default(),
        is_private: still::is_private(node, address.folder(), headers, uri),
    };
    let answer = vod::answer(&node.files, wanted).await;
    send(node, visitor, handover, (answer, admitted))
}

/// A permit for a client that is sent something, before anything is made for it.
pub(super) fn admit(
    node: &Node,
    visitor: Visitor,
    is_head: bool,
) -> Result<Option<ListenerPermit>, Rejected> {
    let permit = (!is_head).then(|| node.admission.listener(visitor.peer.ip()));
    permit.transpose()
}

/// Sends what there is to a client that is bounded as a listener meanwhile.
pub(super) fn send(
    node: &Node,
    visitor: Visitor,
    handover: &Handover,
    (answer, admitted): (Answer, Option<ListenerPermit>),
) -> Response {
    let Answer {
        status,
        headers,
        body,
    } = answer;
    let is_sent = matches!(status, StatusCode::OK | StatusCode::PARTIAL_CONTENT);
    let listener = admitted.filter(|_| is_sent);
    let listener = listener.map(|permit| Lasting::begin(handover, permit));
    let address = visitor.peer.ip();
    let bytes = body.in_memory();
    let Some(held) = node.holdings.take(Kind::Answers, address, bytes) else {
        return turn_away(node, visitor, Rejected::Holdings);
    };
    let transfer = body.transfer();
    let mut response = Response::new(Body::new(FileBody {
        body,
        _listener: listener,
        _held: held,
    }));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    // For the connection, if the kernel can send it there.
    if let Some(transfer) = transfer {
        response.extensions_mut().insert(transfer);
    }
    response
}

pub(super) fn turn_away(node: &Node, visitor: Visitor, reason: Rejected) -> Response {
    node.counts.reject(reason, visitor.peer);
    let status = StatusCode::from_u16(refusal::status_of(reason).code());
    let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let retry_after = [(header::RETRY_AFTER, node.drain.retry_after().to_string())];
    (status, retry_after, format!("{reason}\n")).into_response()
}

/// A file as hyper takes it.
struct FileBody {
    body: vod::Body,
    _listener: Option<Lasting<ListenerPermit>>,
    /// Of what is in memory for it.
    _held: Held,
}

impl hyper::body::Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = self.body.poll_next(cx);
        next.map(|next| next.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.left() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .left()
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
