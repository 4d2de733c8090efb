//! Body of an event-stream response: produces a piece whenever the connection can take one.

use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use fanout::events::{EventReader, Received};
use hyper::body::{Body, Frame};
use tokio::sync::OwnedSemaphorePermit;
use web::sse::{COMMENT, Silence};

use super::Filter;
use super::view::EventView;
use crate::connections::Lease;

/// Size in bytes at which a piece is complete; its last event may exceed it.
const PIECE_BYTES: usize = 16 * 1024;

/// Number of events examined for one piece, so that a task with a narrow filter lets other tasks run.
const EVENTS_PER_PIECE: usize = 256;

/// Response body that yields events until the reader ends.
#[derive(Debug)]
pub(super) struct EventBody {
    reader: EventReader,
    filter: Filter,
    /// Number of the last event that the client knows.
    reported: u64,
    silence: Silence,
    lease: Lease,
    _permit: OwnedSemaphorePermit,
}

impl EventBody {
    pub(super) fn new(
        reader: EventReader,
        filter: Filter,
        lease: Lease,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            reported: reader.reached(),
            reader,
            filter,
            silence: Silence::begin(),
            lease,
            _permit: permit,
        }
    }

    /// Returns the next piece; `None` if there will be no more.
    fn piece(&mut self, cx: &Context<'_>) -> Poll<Option<String>> {
        let mut piece = String::new();
        for _ in 0..EVENTS_PER_PIECE {
            match self.reader.poll_next(cx) {
                Poll::Ready(Some(received)) => self.write(&mut piece, &received),
                Poll::Ready(None) if piece.is_empty() => return Poll::Ready(None),
                Poll::Pending if piece.is_empty() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => return Poll::Ready(Some(piece)),
            }
            if piece.len() >= PIECE_BYTES {
                return Poll::Ready(Some(piece));
            }
        }
        if piece.is_empty() {
            // There may be more events.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(piece))
    }

    fn write(&mut self, piece: &mut String, received: &Received) {
        let (kind, data) = match received {
            Received::Event(event) if !self.filter.admits(event) => return,
            Received::Event(event) => {
                let view = serde_json::to_string(&EventView::of(event));
                let view = view.expect("texts and numbers are JSON");
                (event.kind.topic().label(), view)
            }
            Received::Missed { count } => {
                ("missed", serde_json::json!({ "count": count }).to_string())
            }
        };
        self.reported = self.reader.reached();
        writeln!(
            piece,
            "id: {}\nevent: {kind}\ndata: {data}\n",
            self.reported
        )
        .expect("a String takes all text");
    }

    /// Returns a comment; it includes the number to resume from, if events outside the client's filter have advanced that
    /// number.
    fn keep_alive(&mut self) -> String {
        let reached = self.reader.reached();
        match std::mem::replace(&mut self.reported, reached) == reached {
            true => COMMENT.to_owned(),
            false => format!(":\nid: {reached}\n\n"),
        }
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let piece = match this.piece(cx) {
            Poll::Ready(Some(piece)) => piece,
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending if this.silence.poll(cx).is_ready() => this.keep_alive(),
            Poll::Pending => return Poll::Pending,
        };
        this.silence.end();
        // Not called if there is no piece: that would have this very task polled again.
        this.lease.went_on();
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }
}
