//! Files on demand: the gate, the limits, and the answer as `vod` gives it.
//!
//! A client that is sent a file is a listener, for as long as its [playback](super::playbacks) lasts, and its connection
//! does not give way to others while the answer does.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use fanout::Guest;
use hyper::body::{Frame, SizeHint};
use limits::Handover;
use limits::Rejected;
use net::holdings::{Held, Kind};
use vod::{Address, Answer, Count, Transfer};

use super::lasting::Lasting;
use super::permit;
use super::playbacks::{IsListener, Pass, Refused, Subject, Wanted};
use crate::front_door::FrontDoor;
use crate::visitor::Visitor;

/// Answers a request for a file.
pub(super) async fn answer(
    front: &FrontDoor,
    visitor: Visitor,
    handover: &Handover,
    address: &Address,
    request: Request,
) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    let wanted = Wanted {
        visitor,
        headers,
        uri,
        is_head: request.method() == Method::HEAD,
        stream: address.folder(),
        subject: Subject::File {
            name: address.name(),
            is_hls: address.is_hls(),
        },
    };
    let pass = match front
        .pages
        .playbacks
        .admit(&*front.gate, &front.admission, &wanted)
        .await
    {
        Ok(pass) => pass,
        Err(refused) => return refused.answer(&front.admission, visitor),
    };
    let asked = vod::Request {
        address,
        is_head: wanted.is_head,
        headers,
        query: uri.query().unwrap_or_default(),
        is_private: permit::is_private(&front.config, address.folder(), headers, uri),
    };
    let answer = vod::answer(&front.files, asked).await;
    send(front, handover, (&wanted, pass), answer)
}

/// Sends what there is to a client, which is a listener meanwhile.
pub(super) fn send(
    front: &FrontDoor,
    handover: &Handover,
    (wanted, pass): (&Wanted<'_>, Pass),
    answer: Answer,
) -> Response {
    let Answer {
        status,
        headers,
        body,
    } = answer;
    let address = wanted.visitor.peer.ip();
    let Some(held) = front
        .holdings
        .take(Kind::Answers, address, body.in_memory())
    else {
        return Refused::Rejected(Rejected::Holdings).answer(&front.admission, wanted.visitor);
    };
    let has_media = matches!(status, StatusCode::OK | StatusCode::PARTIAL_CONTENT);
    let guest = match has_media && !wanted.is_head {
        true => match front.pages.playbacks.begin(&front.registry, pass, wanted) {
            Ok(guest) => Some(guest),
            Err(refused) => return refused.answer(&front.admission, wanted.visitor),
        },
        false => None,
    };
    let is_listener = guest.as_ref().map(|it| IsListener(it.ended().clone()));
    let sending = guest.clone().zip(body.transfer());
    let mut response = Response::new(Body::new(FileBody {
        body,
        playback: guest.map(|guest| Playback::begin(handover, guest)),
        is_over: false,
        _held: held,
    }));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if let Some(is_listener) = is_listener {
        response.extensions_mut().insert(is_listener);
    }
    // For the connection, if the kernel can send it there.
    if let Some((guest, transfer)) = sending {
        response
            .extensions_mut()
            .insert(Sendable::new(transfer, guest));
    }
    response
}

/// A body that the kernel can send to a plain socket, for a listener.
#[derive(Clone, Debug)]
pub struct Sendable {
    /// The file, and where in it.
    pub transfer: Transfer,
    guest: Arc<Guest>,
}

impl Sendable {
    fn new(transfer: Transfer, guest: Arc<Guest>) -> Self {
        let counts = Arc::clone(&guest);
        let count = Count::new(move |bytes| counts.sent(bytes, 1));
        Self {
            transfer: transfer.counted(count),
            guest,
        }
    }

    /// Waits until its listener may hear no more.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        ended(&self.guest)
    }
}

fn ended(guest: &Arc<Guest>) -> impl Future<Output = ()> + Send + use<> {
    let ended = guest.ended().clone();
    async move { ended.revoked().await }
}

/// An answer that is being sent to a listener.
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

/// A file as hyper takes it.
struct FileBody {
    body: vod::Body,
    /// `None` if nothing of the media is in it.
    playback: Option<Playback>,
    /// The listener may hear no more.
    is_over: bool,
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
        let this = &mut *self;
        if let Some(playback) = &mut this.playback
            && playback.ended.as_mut().poll(cx).is_ready()
        {
            // A body without a length has its end here; one that is shorter than it was to be has broken off.
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
