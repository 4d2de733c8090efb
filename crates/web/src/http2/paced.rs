//! Body of a reply, handed over piece by piece.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::http2::progress::Progress;

/// Length of a piece in bytes: a frame of the length that all clients accept (RFC 9113 §4.2).
pub const PIECE_BYTES: usize = 16 << 10;

/// Body that is handed over piece by piece. It ends when the client has taken its last piece, and not before: until then its
/// stream can be reset.
#[derive(Debug)]
pub struct Paced<B> {
    body: B,
    /// Bytes of the inner body that are not handed over yet.
    rest: Bytes,
    /// Whether the inner body has ended.
    is_over: bool,
    has_begun: bool,
    progress: Arc<Progress>,
}

impl<B> Paced<B> {
    pub(crate) fn new(body: B, progress: Arc<Progress>) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            is_over: false,
            has_begun: false,
            progress,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Paced<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        loop {
            if !this.rest.is_empty() {
                if !this.progress.has_room(cx) {
                    return Poll::Pending;
                }
                let count = this.rest.len().min(PIECE_BYTES);
                let piece = this.progress.hand_over(this.rest.split_to(count));
                this.has_begun = true;
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if this.is_over {
                return match this.progress.is_taken(cx) {
                    true => Poll::Ready(None),
                    false => Poll::Pending,
                };
            }
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => this.is_over = true,
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        !self.has_begun && self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
