//! Files on demand: authorization, limits, and the reply that `vod` makes.
//!
//! A client that is sent a file is a listener for as long as its [playback](super::playbacks) lasts. Its connection does not
//! give way to others while the reply is being sent.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use base::holdings::{Held, Kind};
use bytes::Bytes;
use fanout::Guest;
use http::StatusCode;
use hyper::body::{Frame, SizeHint};
use limits::Handover;
use limits::Rejected;
use vod::{Address, Answer};

use super::lasting::Lasting;
use super::playbacks::{Pass, Refused, Subject, Wanted};
use crate::reply::Reply;
use crate::request::Request;
use crate::sendable::{Sendable, ended};

/// Answers a request for a file.
pub(super) async fn answer(request: &Request<'_>, address: &Address) -> Reply {
    let front = request.front;
    let wanted = Wanted {
        request,
        stream: address.folder(),
        subject: Subject::File {
            name: address.name(),
            is_hls: address.is_hls(),
        },
    };
    let pass = match front.pages.playbacks.admit(&wanted).await {
        Ok(pass) => pass,
        Err(refused) => return refused.answer(request),
    };
    let asked = vod::Request {
        address,
        is_head: request.is_head(),
        headers: &request.headers,
        query: request.query(),
        is_private: request.is_private(address.folder()),
    };
    let answer = vod::answer(&front.files, asked).await;
    send(&wanted, pass, answer)
}

/// Sends a reply to a client, which is a listener meanwhile.
pub(super) fn send(wanted: &Wanted<'_>, pass: Pass, answer: Answer) -> Reply {
    let Answer {
        status,
        headers,
        body,
    } = answer;
    let request = wanted.request;
    let (front, address) = (request.front, request.visitor.peer.ip());
    let Some(held) = front
        .holdings
        .take(Kind::Answers, address, body.in_memory())
    else {
        return Refused::Rejected(Rejected::Holdings).answer(request);
    };
    let has_media = matches!(status, StatusCode::OK | StatusCode::PARTIAL_CONTENT);
    let guest = match has_media && !request.is_head() {
        true => match front.pages.playbacks.begin(pass, wanted) {
            Ok(guest) => Some(guest),
            Err(refused) => return refused.answer(request),
        },
        false => None,
    };
    let sending = guest.clone().zip(body.transfer());
    let listener = guest.as_ref().map(|guest| guest.ended().clone());
    let body = FileBody {
        body,
        playback: guest.map(|guest| Playback::begin(&request.handover, guest)),
        has_begun: false,
        is_over: false,
        _held: held,
    };
    Reply {
        headers,
        listener,
        file: sending.map(|(guest, transfer)| Sendable::new(transfer, guest)),
        ..Reply::of(status, body)
    }
}

/// Reply that is being sent to a listener.
struct Playback {
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    guest: Arc<Guest>,
    _connection: Lasting<Arc<Guest>>,
}

impl Playback {
    fn begin(handover: &Handover, guest: Arc<Guest>) -> Self {
        Self {
            ended: Box::pin(ended(&guest)),
            _connection: Lasting::begin(handover, Arc::clone(&guest)),
            guest,
        }
    }
}

/// File as a body for hyper.
struct FileBody {
    body: vod::Body,
    /// Playback of the listener; `None` if the body contains no media.
    playback: Option<Playback>,
    /// Whether a piece was handed out, and the head of the reply with it: a client that was admitted just before its permission
    /// ended is still answered.
    has_begun: bool,
    /// Whether the listener's permission has ended.
    is_over: bool,
    /// Charge for the bytes held in memory for the listener.
    _held: Held,
}

impl hyper::body::Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        if this.has_begun
            && let Some(playback) = &mut this.playback
            && playback.ended.as_mut().poll(cx).is_ready()
        {
            // A body without a length simply ends here; one that is shorter than announced has broken off.
            this.playback = None;
            this.is_over = true;
            let is_cut = this.body.left().is_some();
            let error = io::Error::from(io::ErrorKind::ConnectionAborted);
            return Poll::Ready(is_cut.then_some(Err(error)));
        }
        if this.is_over {
            return Poll::Ready(None);
        }
        let next = ready!(this.body.poll_next(cx));
        this.has_begun = true;
        if let (Some(Ok(piece)), Some(playback)) = (&next, &this.playback) {
            playback.guest.sent(piece.len() as u64, 1);
        }
        Poll::Ready(next.map(|piece| piece.map(Frame::data)))
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
