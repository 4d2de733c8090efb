//! Bodies of answers over HTTP/2, whose end shows that a request is served.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;

/// A live body, piece by piece, and what is held until it is over.
pub(super) struct Pieces<T> {
    pub(super) pieces: mpsc::Receiver<Bytes>,
    pub(super) _for: T,
}

impl<T: Unpin> HttpBody for Pieces<T> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = self.pieces.poll_recv(cx);
        piece.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A body, and what is held until it is taken.
pub(super) struct Held<T> {
    pub(super) body: Body,
    pub(super) _for: T,
}

impl<T: Unpin> HttpBody for Held<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
