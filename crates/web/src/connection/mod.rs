//! HTTP ports: requests on a connection, read and answered one after another.
//!
//! ```text
//!   ┌► (idle) ─► head ─► Route ─┬─ listener, source, title ─► the socket is handed over, the loop ends
//!   │                           └─ page, WHIP, WHEP ─► body ─► Request ─► Reply ──┐
//!   └──────────────────────────────── keep-alive, pipelined requests ◄────────────┘
//! ```
//!
//! * A request is read once, by `http1`, and routed once, by [`Route::of_request`]. Nothing is read after a request that is
//!   refused as malformed, that does not conform to HTTP, or that begins a source. A request for an upgrade to TLS is served
//!   within TLS (`upgrade`).
//! * A connection that waits for its next request is idle: it is the first to give way to new connections
//!   ([`ConnectionPermit::rest`](limits::ConnectionPermit::rest)), and it ends when the server shuts down.
//! * Before a client has presented a credential, a connection owns a head of 16 KiB in three forms (as received, as parsed, and
//!   as pages get it) and a body of `KEPT_BYTES_MAX`: less than 256 KiB in all.

mod asked;
mod carried;
mod exchange;
pub mod h2;
mod live;
mod refusal;
mod upgrade;

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use base::holdings::{Held, Kind};
use config::ClientHeader;
use fanout::gate::Country;
use http::{Method, StatusCode};
use http1::{Body, Head, HttpDate, Status, Version};
use rustls::ServerConfig;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use self::asked::Asked;
pub use self::carried::request_threads;
use self::exchange::Terms;
use self::live::Live;
pub use self::live::LiveTransport;
pub use self::refusal::refuse_unread;
use self::refusal::{refuse, refuse_headless, refuse_malformed, say};
use crate::address::{forwarded, forwarded_element};
use crate::front_door::FrontDoor;
use crate::head::{Inbox, NoBody, NoHead, Taken};
use crate::page::Page;
use crate::pages;
use crate::reply::Reply;
use crate::request::Request;
use crate::route::Route;
use crate::signalling::BODY_BYTES_MAX;
use crate::visitor::Visitor;
use limits::Rejected;
use limits::{ConnectionPermit, Handover};

/// Time that a connection may wait for its next request. Proxies that keep connections to a server close them after 60 s
/// (nginx) or less; the side that sends requests should be the one to close, because a request that crosses our close is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);

/// Maximum number of requests per connection: one hour of an HLS player with three requests per second.
const REQUESTS_MAX: u32 = 10_000;

/// Age after which a connection takes no further request, so that clients resolve the server's name again.
const LIFETIME: Duration = Duration::from_secs(3_600);

/// Time limit for a body to arrive, for a page to be made, and for a client to take the page. Each is small, and a client that
/// takes longer is not reading.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a body that are kept: one more than any page accepts, so that the page sees that there are too many.
const KEPT_BYTES_MAX: usize = BODY_BYTES_MAX + 1;

/// Reply when a page took longer than [`PAGE_TIMEOUT`] to make.
const NOT_IN_TIME: &str = "The answer was not there in time.";

/// Serves a connection.
pub async fn serve<S: LiveTransport>(
    front: &Arc<FrontDoor>,
    socket: S,
    permit: ConnectionPermit,
    peer: SocketAddr,
) {
    let connection = Connection::new(front, socket, permit, peer);
    connection.run(None).await;
}

/// Serves a connection that switches to TLS when its client requests an upgrade.
pub async fn serve_plain(
    front: &Arc<FrontDoor>,
    socket: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    permit: ConnectionPermit,
    peer: SocketAddr,
) {
    let mut connection = Connection::new(front, socket, permit, peer);
    connection.tls = tls;
    if let Some((connection, head)) = connection.run(None).await
        && let Some(secure) = Box::pin(connection.upgrade()).await
    {
        Box::pin(secure.run(Some(head))).await;
    }
}

/// Serves a connection of which bytes have been read already.
pub async fn serve_begun<S: LiveTransport>(
    front: &Arc<FrontDoor>,
    socket: S,
    received: &[u8],
    permit: ConnectionPermit,
    peer: SocketAddr,
) {
    let mut connection = Connection::new(front, socket, permit, peer);
    connection.inbox = Some(Inbox::with(received));
    connection.run(None).await;
}

/// Connection between two requests.
struct Connection<'a, S> {
    front: &'a Arc<FrontDoor>,
    socket: S,
    /// Bytes not parsed yet; `None` before the first byte.
    inbox: Option<Inbox>,
    handover: Handover,
    /// Peer of the connection, which may be a proxy.
    peer: SocketAddr,
    began: Instant,
    requests: u32,
    /// Memory held for the request in progress.
    held: Held,
    /// Number of times that a thread may still carry the connection.
    carriages_left: u32,
    /// TLS configuration for the case that the client requests an upgrade.
    tls: Option<Arc<ServerConfig>>,
}

/// Outcome of a request that leaves the connection open.
enum Served<'a, S> {
    /// Request that has been answered.
    Answered(Connection<'a, S>),
    /// Request that is to be answered within TLS.
    Upgrade(Connection<'a, S>, Head),
}

impl<'a, S: LiveTransport> Connection<'a, S> {
    fn new(
        front: &'a Arc<FrontDoor>,
        socket: S,
        permit: ConnectionPermit,
        peer: SocketAddr,
    ) -> Self {
        Self {
            front,
            socket,
            inbox: None,
            handover: Handover::new(permit),
            peer,
            began: Instant::now(),
            requests: 0,
            held: front.holdings.note(Kind::Requests, 0),
            carriages_left: carried::TIMES_MAX,
            tls: None,
        }
    }

    /// Serves requests, beginning with `first` if given. Returns the connection and a request that is to be answered within
    /// TLS, or `None` when the connection is over or was handed over.
    async fn run(self, first: Option<Head>) -> Option<(Self, Head)> {
        let mut served = match first {
            Some(head) => self.serve(head).await,
            None => self.turn().await,
        };
        loop {
            let mut connection = match served? {
                Served::Answered(connection) => connection,
                Served::Upgrade(connection, head) => return Some((connection, head)),
            };
            if !connection.rest().await {
                // The last reply is sent; whether TLS's close_notify arrives does not matter.
                let closed = connection.socket.shutdown();
                timeout(PAGE_TIMEOUT, closed).await.ok();
                return None;
            }
            served = connection.turn().await;
        }
    }

    /// Reads and serves one request. Returns `None` when the connection is over or was handed over.
    async fn turn(mut self) -> Option<Served<'a, S>> {
        let (front, peer) = (self.front, self.peer);
        let head = match timeout(front.config.http.head_timeout, self.head()).await {
            Ok(Ok(head)) => head,
            Ok(Err(no_head)) => {
                refuse_headless(front, self.socket, &Asked::nothing(peer), no_head).await;
                return None;
            }
            Err(_) => {
                front.counts.reject(Rejected::HeadTimeout, peer);
                let text = "The request head did not arrive in time.";
                let status = Status::REQUEST_TIMEOUT;
                say(front, self.socket, &Asked::nothing(peer), status, text).await;
                return None;
            }
        };
        self.serve(head).await
    }

    async fn serve(mut self, head: Head) -> Option<Served<'a, S>> {
        let (front, peer) = (self.front, self.peer);
        self.requests += 1;
        self.held.set(head.footprint());
        let visitor = visitor(front, &head, peer, S::SCHEME);
        let charged = self.handover.permit().charge(visitor.peer.ip());
        if let Err(reason) = charged {
            refuse(front, self.socket, &Asked::by(&head, visitor.peer), reason).await;
            return None;
        }
        let route = Route::of_request(&head, front);
        let understood = match &route {
            Route::Malformed => Err(http1::Error::TargetMalformed),
            route if route.is_of_sources() => Ok(()),
            _ => head.conforms(),
        };
        if let Err(error) = understood {
            let asked = Asked::by(&head, visitor.peer);
            refuse_malformed(front, self.socket, &asked, error).await;
            return None;
        }
        if self.is_upgraded_by(&head, visitor) {
            return Some(Served::Upgrade(self, head));
        }
        let answered = self.dispatch(route, head, visitor).await;
        answered.map(Served::Answered)
    }

    async fn dispatch(self, route: Route, head: Head, visitor: Visitor) -> Option<Self> {
        match route {
            Route::Page(page) => return Box::pin(self.page(page, head, visitor)).await,
            // Boxed, so that a connection that only fetches pages does not hold the memory that these need.
            Route::Source(name) => Box::pin(self.live(head, visitor).publish(name)).await,
            Route::Title(dialect) => Box::pin(self.live(head, visitor).set_title(dialect)).await,
            Route::Capabilities => return Box::pin(self.tell_capabilities(head, visitor)).await,
            Route::Watch => Box::pin(self.live(head, visitor).watch(visitor)).await,
            Route::Listen(target) => Box::pin(self.live(head, visitor).listen(target)).await,
            Route::Look(target) => Box::pin(self.live(head, visitor).look(target)).await,
            // Refused above.
            Route::Malformed => {}
        }
        None
    }

    async fn head(&mut self) -> Result<Head, NoHead> {
        let inbox = match &mut self.inbox {
            Some(inbox) => inbox,
            none => none.insert(Inbox::open(&mut self.socket).await?),
        };
        let held = &mut self.held;
        inbox.head(&mut self.socket, |bytes| held.set(bytes)).await
    }

    /// Waits for the next request, unless its first bytes are already here. Returns false when there is none.
    async fn rest(&mut self) -> bool {
        let Some(inbox) = &mut self.inbox else {
            return false;
        };
        if !inbox.is_blank() {
            return true;
        }
        self.held.set(0);
        self.handover.permit().rest();
        let begun = tokio::select! {
            begun = timeout(IDLE_TIMEOUT, inbox.request(&mut self.socket)) => begun,
            () = self.front.drain.begun() => return false,
        };
        matches!(begun, Ok(Ok(true))) && self.handover.permit().wake()
    }

    /// Hands the connection over with its request.
    fn live(self, head: Head, visitor: Visitor) -> Live<'a, S> {
        Live {
            front: self.front,
            socket: self.socket,
            head,
            early: self.inbox.map(Inbox::into_bytes).unwrap_or_default(),
            handover: self.handover,
            remote: visitor.remote(),
        }
    }

    /// Answers a request and leaves the connection for the next one.
    async fn page(mut self, page: Page, head: Head, visitor: Visitor) -> Option<Self> {
        let (front, asked) = (self.front, Asked::of_page(&page, &head, visitor.peer));
        let body = match timeout(PAGE_TIMEOUT, self.body(&page, &head)).await {
            Ok(Ok(body)) => body,
            Ok(Err(NoBody::Malformed(error))) => {
                refuse_malformed(front, self.socket, &asked, error).await;
                return None;
            }
            Ok(Err(NoBody::Cut)) => {
                let text = "The body could not be read to its end.";
                say(front, self.socket, &asked, Status::BAD_REQUEST, text).await;
                return None;
            }
            Err(_) => {
                let text = "The body did not arrive in time.";
                say(front, self.socket, &asked, Status::REQUEST_TIMEOUT, text).await;
                return None;
            }
        };
        // The head is counted twice: pages hold a copy of it.
        self.held.set(2 * head.footprint() + body.kept.capacity());
        let request = match Request::of(front, visitor, self.handover.clone(), &head) {
            Ok(request) => request,
            Err(error) => {
                refuse_malformed(front, self.socket, &asked, error).await;
                return None;
            }
        };
        let request = Request {
            body: body.kept,
            ..request
        };
        let terms = Terms {
            version: head.version(),
            is_head: request.is_head(),
            persists: head.keeps_alive() && body.is_whole && self.may_continue(),
            lasts: page.lasts(),
        };
        if let Page::Hls(stream, resource) = &page
            && request.method == Method::GET
        {
            let answer = pages::answer_directly(&request, (stream, resource));
            let reply = self.unless_gone(answer).await?;
            let is_viewer = reply.status == StatusCode::OK && !visitor.is_proxied;
            let next = self.answer(reply, terms).await?;
            return match is_viewer {
                true => next.be_carried().await,
                false => Some(next),
            };
        }
        let reply = timeout(PAGE_TIMEOUT, pages::respond(&request, &page));
        let reply = match page.may_wait() {
            true => self.unless_gone(reply).await?,
            false => reply.await,
        };
        let Ok(reply) = reply else {
            let status = Status::SERVICE_UNAVAILABLE;
            say(front, self.socket, &asked, status, NOT_IN_TIME).await;
            return None;
        };
        asked.log_page(front, &page, &reply);
        // Dropped early: a reply may last for hours.
        drop(request);
        self.answer(reply, terms).await
    }

    /// Waits for a reply, unless the client leaves meanwhile: then everything held for the reply is released. Returns `None`
    /// when the client has left.
    async fn unless_gone<T>(&mut self, answer: impl Future<Output = T>) -> Option<T> {
        let Some(inbox) = self.inbox.as_mut().filter(|inbox| inbox.is_blank()) else {
            // The next request is here, so the client is too.
            return Some(answer.await);
        };
        let mut answer = pin!(answer);
        let next = tokio::select! {
            // The reply comes first, so that a client that need not wait is answered even if it has closed its half.
            biased;
            answer = &mut answer => return Some(answer),
            next = inbox.request(&mut self.socket) => next,
        };
        match next {
            Ok(true) => Some(answer.await),
            Ok(false) | Err(_) => None,
        }
    }

    /// Reads a request's body as far as the page needs it. Other bodies are read if they are short, because the next request
    /// follows them.
    async fn body(&mut self, page: &Page, head: &Head) -> Result<Taken, NoBody> {
        let Some(inbox) = &mut self.inbox else {
            return Err(NoBody::Cut);
        };
        let has_one = !matches!(head.body(), Body::None | Body::Length(0));
        if has_one && head.expects_continue() && head.version() == Version::Http11 {
            if !page.reads_body() {
                // The client may or may not send the body, so the start of the next request is unknown.
                return Ok(Taken::default());
            }
            let sent = self.socket.write_all(http1::CONTINUE).await;
            sent.map_err(|_| NoBody::Cut)?;
            self.socket.flush().await.map_err(|_| NoBody::Cut)?;
        }
        let kept_max = if page.reads_body() { KEPT_BYTES_MAX } else { 0 };
        let held = &mut self.held;
        let count = |bytes| held.set(head.footprint() + bytes);
        inbox
            .body(&mut self.socket, head.body(), kept_max, count)
            .await
    }

    async fn answer(mut self, mut reply: Reply, terms: Terms) -> Option<Self> {
        let now = HttpDate::from(SystemTime::now());
        let (listener, file) = (reply.listener.take(), reply.file.take());
        let written = match (file, self.socket.plain()) {
            (Some(file), Some(socket)) if terms.lasts => {
                Ok(exchange::write_file(socket, reply, file, terms, now).await)
            }
            _ => {
                let written = exchange::write(&mut self.socket, reply, terms, now);
                match terms.lasts {
                    true => Ok(exchange::until_over(written, listener).await),
                    false => timeout(PAGE_TIMEOUT, written).await,
                }
            }
        };
        match written {
            Ok(Ok(true)) => return Some(self),
            Ok(Ok(false)) => crate::head::answer(self.socket, b"").await,
            Ok(Err(error)) => {
                tracing::debug!(peer = %self.peer, %error, "an answer could not be written");
            }
            Err(_) => tracing::debug!(peer = %self.peer, "a page was not read in time"),
        }
        None
    }

    /// Whether the connection may take another request.
    fn may_continue(&self) -> bool {
        self.requests < REQUESTS_MAX
            && self.began.elapsed() < LIFETIME
            && !self.front.drain.has_begun()
    }
}

/// Determines the client of a request.
fn visitor(front: &FrontDoor, head: &Head, peer: SocketAddr, scheme: &'static str) -> Visitor {
    let is_proxied = front.config.http.trusts(peer.ip());
    let named = head.header_values(front.config.http.client_header.name());
    Visitor {
        peer: match is_proxied {
            true => SocketAddr::new(client(front, named, peer.ip()), peer.port()),
            false => peer,
        },
        scheme,
        is_proxied,
        country: match &front.config.http.country_header {
            // The last value counts: a client may have sent the header itself.
            Some(name) if is_proxied => head.header_values(name).last().and_then(Country::new),
            _ => None,
        },
    }
}

/// Returns the client's address as reported by trusted proxies. Each proxy appends the address of its own peer, so the last
/// address that is not a trusted proxy's counts.
fn client<'a>(front: &FrontDoor, named: impl Iterator<Item = &'a str>, proxy: IpAddr) -> IpAddr {
    let named: Vec<_> = named
        .flat_map(|value| value.split(','))
        .map(match front.config.http.client_header {
            ClientHeader::XForwardedFor => forwarded,
            ClientHeader::Forwarded => forwarded_element,
        })
        .collect();
    let mut client = proxy;
    for address in named.into_iter().rev() {
        // No trusted proxy vouches for anything to the left of an invalid entry.
        let Some(address) = address else { break };
        client = address;
        if !front.config.http.trusts(address) {
            break;
        }
    }
    client
}
