//! HTTP/2: requests that share a connection, which [`crate::http2`] drives. They have the routes, limits and replies of HTTP/1.
//!
//! A request is converted to the head that HTTP/1 would have, and is handled as an HTTP/1 request from there on. A live body
//! follows its lane in its own task and is passed on piece by piece, as the client's windows open.
//!
//! The connection is idle when it has carried a request and carries none now. While it carries a listener's request, it counts
//! as a listener's. Publishing over HTTP/2 is not possible: a source's body has no end, and sources speak HTTP/1.

mod body;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::http2::{IsOver, Patience};
use base::Lock;
use base::holdings::Kind;
use fanout::Permit;
use fanout::gate::Remote;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use http1::{Head, Status};
use hyper::body::Incoming;
use ingest::icecast::{Prospects, answer_options};
use limits::{ConnectionPermit, Evict, Handover, Rejected, SharePlace};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use self::body::{Held, Pieces};
use self::wire::from_wire;
use super::exchange::PIECE_TIMEOUT;
use super::{
    Asked, IDLE_TIMEOUT, KEPT_BYTES_MAX, LIFETIME, NOT_IN_TIME, PAGE_TIMEOUT, refusal, visitor,
};
use crate::front_door::FrontDoor;
use crate::listen::{self, LiveReply, Target};
use crate::page::Page;
use crate::pages;
use crate::refusal::status_of_limit;
use crate::reply::{Body, Reply};
use crate::request::Request;
use crate::route::Route;
use crate::visitor::Visitor;

/// Live-body pieces buffered between the lane and HTTP/2; a client that does not take them falls behind in the log.
const PIECES_MAX: usize = 1;

/// Serves a connection that has negotiated HTTP/2.
pub async fn serve(
    front: &Arc<FrontDoor>,
    socket: net::tls::Stream,
    permit: ConnectionPermit,
    peer: SocketAddr,
) {
    let session = Arc::new(Session {
        front: Arc::clone(front),
        usage: Lock::default(),
        requests: watch::Sender::new(0),
        handover: Handover::new(permit),
        peer,
    });
    let ending = async {
        tokio::select! {
            () = front.drain.begun() => {}
            () = session.idles() => {}
            () = sleep(LIFETIME) => {}
        }
    };
    let answer = |request| Arc::clone(&session).answer(request);
    let served = crate::http2::serve(socket, answer, ending, session.is_over()).await;
    if let Err(error) = served {
        tracing::debug!(%peer, %error, "a connection of HTTP/2 ended");
    }
}

/// State that the requests of a connection share.
struct Session {
    front: Arc<FrontDoor>,
    usage: Lock<Use>,
    /// Number of requests that the connection carries.
    requests: watch::Sender<usize>,
    handover: Handover,
    /// Peer of the connection, which may be a proxy.
    peer: SocketAddr,
}

/// Permits and memory held until a request's reply is over: its connection's, its client's, its memory.
type Counted = (Option<ConnectionPermit>, SharePlace, base::holdings::Held);

/// Current use of a connection.
#[derive(Default)]
struct Use {
    requests: usize,
    listeners: usize,
    /// Ends the connection when it is idle again; kept here while the connection has listeners, as it cannot give way then.
    evict: Option<Evict>,
}

impl Session {
    async fn answer(self: Arc<Self>, request: http::Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let head = match wire::head(&parts) {
            Ok(head) => head,
            Err(error) => return self.malformed(&Asked::nothing(self.peer), error).into(),
        };
        let visitor = visitor(&self.front, &head, self.peer, "https");
        let asked = Asked::by(&head, visitor.peer);
        let Some(busy) = Busy::begin(&self) else {
            // The connection has just given way.
            return Reply::new(StatusCode::SERVICE_UNAVAILABLE).into();
        };
        let counted = match self.count(&visitor) {
            Ok(counted) => counted,
            Err(reason) => return self.reject(&asked, reason),
        };
        let Some(place) = self.front.limits.requests.take(visitor.peer.ip()) else {
            return self.reject(&asked, Rejected::Requests);
        };
        let held = self.front.holdings.note(Kind::Requests, head.footprint());
        let counted = (counted, place, held);
        let route = Route::of_request(&head, &self.front);
        let patience = match &route {
            Route::Page(page) if page.lasts() => PIECE_TIMEOUT,
            _ => PAGE_TIMEOUT,
        };
        let mut end = None;
        let mut response = match route {
            Route::Page(page) => {
                let mut reply = self.page(page, &head, visitor, body).await;
                end = reply.listener.take();
                reply.into()
            }
            Route::Listen(target) => {
                return self
                    .listen(target, (&head, visitor.remote()), &asked, busy, counted)
                    .await;
            }
            Route::Look(target) => self.look(target, (&head, visitor.remote()), &asked).await,
            Route::Capabilities => {
                let prospects = Prospects::default();
                let settings = &self.front.ingest.settings;
                let answer = answer_options(settings, &head, prospects);
                asked.log_answer(&self.front, &answer);
                from_wire(&answer, None).into()
            }
            Route::Source(_) | Route::Title(_) | Route::Watch => {
                let text = "Sources and their titles come over HTTP/1.1 here.";
                let status = Status::VERSION_NOT_SUPPORTED;
                self.refusal(&asked, status, text).into()
            }
            Route::Malformed => {
                let error = http1::Error::TargetMalformed;
                self.malformed(&asked, error).into()
            }
        };
        let patience = Patience(Some(patience));
        response.extensions_mut().insert(patience);
        if let Some(end) = end {
            let is_over = IsOver(Arc::new(move || end.is_revoked()));
            response.extensions_mut().insert(is_over);
        }
        let _for = (busy, counted);
        response.map(|body| Held { body, _for }.boxed_unsync())
    }

    /// Counts a request for its client: a direct connection is counted once, a proxy's connection once per request.
    fn count(&self, visitor: &Visitor) -> Result<Option<ConnectionPermit>, Rejected> {
        let address = visitor.peer.ip();
        match visitor.is_proxied {
            true => self.front.limits.counted(address).map(Some),
            false => self.handover.permit().charge(address).map(|()| None),
        }
    }

    async fn page(&self, page: Page, head: &Head, visitor: Visitor, body: Incoming) -> Reply {
        let asked = Asked::of_page(&page, head, visitor.peer);
        let mut request = match Request::of(&self.front, visitor, self.handover.clone(), head) {
            Ok(request) => request,
            Err(error) => return self.malformed(&asked, error),
        };
        let answered = async {
            if page.reads_body_of(&request.method) {
                request.body = body::kept(body, KEPT_BYTES_MAX).await?;
            }
            // Boxed: other requests of a connection do not hold what pages need.
            Some(Box::pin(pages::respond(&request, &page)).await)
        };
        match timeout(PAGE_TIMEOUT, answered).await {
            Ok(Some(reply)) => {
                asked.log_page(&self.front, &page, &reply);
                reply
            }
            Ok(None) => {
                let text = "The body could not be read to its end.";
                self.refusal(&asked, Status::BAD_REQUEST, text)
            }
            Err(_) => self.refusal(&asked, Status::SERVICE_UNAVAILABLE, NOT_IN_TIME),
        }
    }

    async fn look(
        &self,
        target: Target,
        (head, remote): (&Head, Remote),
        asked: &Asked,
    ) -> Response<Body> {
        let reply = listen::reply(&self.front.egress, target, head, remote, Permit::new(()));
        match reply.await {
            LiveReply::Whole { status, bytes } => {
                asked.log(&self.front, status, bytes.len());
                from_wire(&bytes, None).into()
            }
            LiveReply::Live { head, .. } => from_wire(&head, None).into(),
        }
    }

    async fn listen(
        self: &Arc<Self>,
        target: Target,
        (head, remote): (&Head, Remote),
        asked: &Asked,
        mut busy: Busy,
        counted: Counted,
    ) -> Response<Body> {
        let front = &self.front;
        let permit = front.admission.listener(asked.peer.ip());
        let (permit, also) = match permit.and_then(|permit| Ok((permit, busy.listen(asked.peer)?)))
        {
            Ok(both) => both,
            Err(reason) => return self.reject(asked, reason),
        };
        let permit = Permit::new((permit, counted, also));
        let reply = listen::reply(&front.egress, target, head, remote, permit);
        match reply.await {
            LiveReply::Whole { status, bytes } => {
                asked.log(front, status, bytes.len());
                from_wire(&bytes, None).into()
            }
            LiveReply::Live { head, body } => {
                let (sender, pieces) = mpsc::channel(PIECES_MAX);
                // The task ends with the lane, or when the client has closed its stream.
                tokio::spawn(body.feed(sender));
                let body = Pieces { pieces, _for: busy }.boxed_unsync();
                let mut response: Response<Body> = from_wire(&head, Some(body)).into();
                // A listener that takes nothing is treated as one that lags.
                response.extensions_mut().insert(Patience(None));
                response
            }
        }
    }

    fn reject(&self, asked: &Asked, reason: Rejected) -> Response<Body> {
        self.front.counts.reject(reason, asked.peer);
        let status = status_of_limit(reason);
        self.refusal(asked, status, &reason.to_string()).into()
    }

    fn malformed(&self, asked: &Asked, error: http1::Error) -> Reply {
        self.refusal(asked, http1::status_of(error), &error.to_string())
    }

    fn refusal(&self, asked: &Asked, status: Status, text: &str) -> Reply {
        let answer = refusal::plain(&self.front, asked.version, status, text);
        asked.log_answer(&self.front, &answer);
        from_wire(&answer, None)
    }

    /// Resolves when there has been no request for too long.
    async fn idles(&self) {
        let mut requests = self.requests.subscribe();
        // For as long as over HTTP/1, the connection is not the first to give way: otherwise part of an audience that arrives
        // all at once would not get in.
        let first = requests.wait_for(|requests| *requests > 0);
        if timeout(self.front.config.http.head_timeout, first)
            .await
            .is_err()
        {
            self.rest_unused();
        }
        none_for(IDLE_TIMEOUT, requests).await;
    }

    /// Resolves when a connection that takes no further request has carried none for as long as the last reply may take: the
    /// only replies left are those of which the client takes nothing.
    async fn is_over(&self) {
        none_for(PAGE_TIMEOUT, self.requests.subscribe()).await;
    }

    /// Marks the connection as idle if it has no request yet, after the time allowed for its first one.
    fn rest_unused(&self) {
        let usage = self.usage.lock();
        if usage.requests == 0 {
            self.handover.permit().rest();
        }
    }
}

/// Waits until there has been no request for so long.
async fn none_for(time: Duration, mut requests: watch::Receiver<usize>) {
    // `wait_for` cannot fail: the sender belongs to the session.
    while requests.wait_for(|requests| *requests == 0).await.is_ok() {
        let next = requests.wait_for(|requests| *requests > 0);
        if timeout(time, next).await.is_err() {
            return;
        }
    }
}

/// Request in progress, which keeps its connection from being idle.
struct Busy {
    session: Arc<Session>,
    is_listener: bool,
}

impl Busy {
    /// Registers a request; returns `None` when the connection has had to give way.
    fn begin(session: &Arc<Session>) -> Option<Self> {
        let mut usage = session.usage.lock();
        if usage.requests == 0 && !session.handover.permit().wake() {
            return None;
        }
        usage.requests += 1;
        session.requests.send_replace(usage.requests);
        Some(Self {
            session: Arc::clone(session),
            is_listener: false,
        })
    }

    /// Marks the request as a listener's. The connection's count covers the first listener; each further one is counted itself.
    fn listen(&mut self, peer: SocketAddr) -> Result<Option<ConnectionPermit>, Rejected> {
        let session = &self.session;
        let mut usage = session.usage.lock();
        let also = match usage.listeners {
            0 => None,
            _ => Some(session.front.limits.counted(peer.ip())?),
        };
        if usage.evict.is_none() {
            usage.evict = session.handover.permit().hold();
        }
        usage.listeners += 1;
        self.is_listener = true;
        Ok(also)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let session = &self.session;
        let mut usage = session.usage.lock();
        usage.requests -= 1;
        usage.listeners -= usize::from(self.is_listener);
        if usage.requests == 0 {
            let evict = usage.evict.take();
            let mut permit = session.handover.permit();
            match evict {
                Some(evict) => permit.rest_again(evict),
                None => permit.rest(),
            }
        }
        session.requests.send_replace(usage.requests);
    }
}
