//! HTTP/2 reply bodies, which hold what their request is counted for until they end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;

use crate::head::DISCARDED_BYTES_MAX;
use crate::reply::Body;

/// Reads a request's body and returns up to `kept_max` bytes of it; `None` if it breaks off.
pub(super) async fn kept(
    mut body: impl HttpBody<Data = Bytes> + Unpin,
    kept_max: usize,
) -> Option<Vec<u8>> {
    let (mut kept, mut seen) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else {
            continue;
        };
        seen += data.len();
        let room = kept_max - kept.len();
        kept.extend_from_slice(&data[..data.len().min(room)]);
        if seen > DISCARDED_BYTES_MAX {
            break;
        }
    }
    Some(kept)
}

/// Live body that is received piece by piece, and the guards that are held until it is over.
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

/// Body, and the guards that are held until it is taken.
pub(super) struct Held<T> {
    pub(super) body: Body,
    pub(super) _for: T,
}

impl<T: Unpin> HttpBody for Held<T> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.body).poll_frame(cx)
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
    use http_body_util::Full;

    use super::*;

    #[tokio::test]
    async fn bodies_are_kept_up_to_their_limit() {
        for (length, expected) in [(5, 5), (7, 7), (8, 7), (2 * DISCARDED_BYTES_MAX, 7)] {
            let body = Full::new(Bytes::from(vec![b'v'; length]));
            let kept = kept(body, 7).await.expect("a body");
            assert_eq!(kept.len(), expected, "{length}");
        }
    }
}
