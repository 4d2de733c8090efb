//! The HTTP ports: one request per connection, read here, and passed to whoever serves it.
//!
//! Sources and live bodies are served on the socket itself. Everything else goes to hyper, which
//! reads the same bytes again. hyper is told to close after one answer, because a later request on
//! that connection could be for a live body, and hyper does not give a socket back.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use bytes::Bytes;
use egress_http::Outcome;
use fanout::Permit;
use http1::{Body, Head, HttpDate, ResponseHead, Sniff, Status, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1 as hyper_http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::head::{self, Arrived, NoHead, Prefixed};
use super::is_trusted;
use super::limits::{Handover, Place};
use super::rejected::Rejected;
use crate::access::{Line, request_line};
use crate::address::forwarded;
use crate::node::Node;
use crate::pages::Visitor;
use crate::routes::Endpoint;
use crate::stamp;

/// A page is small; whoever takes longer for one is not reading.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest form that sets a title.
const FORM_BYTES_MAX: u64 = 16 * 1024;

/// What a source of SHOUTcast v1 is told instead of `OK2`.
const SHOUTCAST: &[u8] =
    b"SHOUTcast v1 is not supported here. Choose Icecast 2 in your encoder.\r\n";

/// What carries a request: a socket, or TLS over one.
pub(super) trait Carrier: AsyncRead + AsyncWrite + Send + Sized + Unpin + 'static {
    /// `https` or `http`.
    const SCHEME: &str;

    /// Serves a live body on it.
    fn listen(
        self,
        node: &Node,
        head: Head,
        peer: SocketAddr,
        permit: Option<Permit>,
    ) -> impl Future<Output = Outcome> + Send;
}

impl Carrier for TcpStream {
    const SCHEME: &str = "http";

    async fn listen(
        self,
        node: &Node,
        head: Head,
        peer: SocketAddr,
        permit: Option<Permit>,
    ) -> Outcome {
        egress_http::serve_plain(&node.egress, self, head, peer, permit).await
    }
}

impl Carrier for TlsStream<TcpStream> {
    const SCHEME: &str = "https";

    async fn listen(
        self,
        node: &Node,
        head: Head,
        peer: SocketAddr,
        permit: Option<Permit>,
    ) -> Outcome {
        if let Err(error) = net::tcp::prepare_listener(self.get_ref().0) {
            tracing::debug!(%peer, %error, "a listener was gone before it was served");
        }
        egress_http::serve_secure(&node.egress, self, head, peer, permit).await
    }
}

/// `site` is what hyper serves.
pub(super) async fn serve<S: Carrier>(
    node: &Arc<Node>,
    site: &Router,
    mut socket: S,
    mut place: Place,
    peer: SocketAddr,
) {
    let read = tokio::time::timeout(node.config.http.head_timeout, head::read(&mut socket)).await;
    let arrived = match read {
        Ok(Ok(arrived)) => arrived,
        Ok(Err(no_head)) => return refuse_headless(node, socket, no_head, peer).await,
        Err(_) => {
            node.counts.reject(Rejected::HeadTimeout, peer);
            let text = "The request head did not arrive in time.";
            let bytes = plain(node, Version::Http11, Status::REQUEST_TIMEOUT, text);
            Asked::nothing(peer).log_answer(node, &bytes);
            return head::answer(socket, &bytes).await;
        }
    };
    let is_proxied = is_trusted(node, peer.ip());
    let peer = client(node, &arrived.head, peer);
    if let Err(reason) = place.charge(peer.ip()) {
        return refuse(node, socket, &arrived.head, reason, peer).await;
    }
    let visitor = Visitor {
        peer,
        scheme: S::SCHEME,
        is_proxied,
    };
    dispatch(node, site, socket, arrived, place, visitor).await;
}

async fn dispatch<S: Carrier>(
    node: &Arc<Node>,
    site: &Router,
    socket: S,
    arrived: Arrived,
    mut place: Place,
    visitor: Visitor,
) {
    let peer = visitor.peer;
    let Arrived { head, early, raw } = arrived;
    match endpoint(&head, node) {
        Endpoint::Source | Endpoint::Put => {
            let asked = Asked::by(&head, peer);
            let mut is_admitted = false;
            let on_admitted = || {
                is_admitted = true;
                place.settle_publisher();
            };
            let outcome =
                ingest::icecast::serve(&node.ingest, socket, head, early, peer, on_admitted).await;
            let status = match &outcome {
                Err(error) if !is_admitted => ingest::icecast::status_of(error).0,
                _ => Status::OK,
            };
            asked.log(node, status, 0);
            if let Err(error) = outcome {
                tracing::debug!(%peer, %error, "a source's connection ended");
            }
        }
        Endpoint::Metadata | Endpoint::MetadataForm | Endpoint::ShoutcastMetadata => {
            let asked = Asked::by(&head, peer);
            let (mut socket, limit) = (socket, node.config.http.head_timeout);
            let form = tokio::time::timeout(limit, form(&mut socket, &head, early)).await;
            let form = form.unwrap_or_default();
            // Written even if the client has closed its half already, as scripts do.
            let now = Instant::now();
            let answer = ingest::icecast::update_metadata(&node.ingest, &head, &form, peer, now);
            asked.log_answer(node, &answer);
            head::answer(socket, &answer).await;
        }
        Endpoint::Options => {
            let answer = ingest::icecast::answer_options(&node.ingest.settings, &head);
            Asked::by(&head, peer).log_answer(node, &answer);
            head::answer(socket, &answer).await;
        }
        Endpoint::Listen if node.is_draining() => {
            refuse(node, socket, &head, Rejected::Draining, peer).await;
        }
        Endpoint::Listen => match node.limits.listener(peer.ip(), Instant::now()) {
            Ok(seat) => {
                place.settle();
                listen(node, socket, head, peer, Permit::new((place, seat))).await;
            }
            Err(reason) => refuse(node, socket, &head, reason, peer).await,
        },
        Endpoint::ListenHead | Endpoint::ListenOptions => {
            listen(node, socket, head, peer, Permit::new(place)).await;
        }
        _ => page(node, site, socket, raw, visitor, place).await,
    }
}

/// Serves a listener, and logs a request that did not become one.
async fn listen<S: Carrier>(node: &Node, socket: S, head: Head, peer: SocketAddr, permit: Permit) {
    let asked = Asked::by(&head, peer);
    let outcome = socket.listen(node, head, peer, Some(permit)).await;
    if let Outcome::Answered { status, bytes } = outcome {
        asked.log(node, status, bytes);
    }
}

/// A request's line in the access log, until it is known how it ended.
struct Asked {
    peer: IpAddr,
    since: SystemTime,
    began: Instant,
    request: String,
    referer: String,
    agent: String,
}

impl Asked {
    fn by(head: &Head, peer: SocketAddr) -> Self {
        let header = |name| head.header(name).unwrap_or_default().to_owned();
        let target = String::from_utf8_lossy(head.target());
        Self {
            request: request_line(head.method(), &target, words(head.version())),
            referer: header("referer"),
            agent: header("user-agent"),
            ..Self::nothing(peer)
        }
    }

    /// Nothing that could be understood.
    fn nothing(peer: SocketAddr) -> Self {
        Self {
            peer: peer.ip(),
            since: SystemTime::now(),
            began: Instant::now(),
            request: String::new(),
            referer: String::new(),
            agent: String::new(),
        }
    }

    /// `bytes` are those of the answer's body.
    fn log(&self, node: &Node, status: Status, bytes: usize) {
        self.log_code(node, status.code(), bytes);
    }

    fn log_answer(&self, node: &Node, answer: &[u8]) {
        let code = answer.split(|byte| *byte == b' ').nth(1);
        let code = code.and_then(|code| str::from_utf8(code).ok()?.parse().ok());
        let head = answer.windows(4).position(|end| end == b"\r\n\r\n");
        let body = head.map_or(0, |end| answer.len() - end - 4);
        self.log_code(node, code.unwrap_or_default(), body);
    }

    fn log_code(&self, node: &Node, status: u16, bytes: usize) {
        node.access.write(&Line {
            peer: self.peer,
            since: self.since,
            request: &self.request,
            status,
            bytes: bytes as u64,
            referer: &self.referer,
            agent: &self.agent,
            duration: self.began.elapsed(),
        });
    }
}

const fn words(version: Version) -> &'static str {
    match version {
        Version::Http11 => "HTTP/1.1",
        Version::Http10 => "HTTP/1.0",
        Version::Ice10 => "ICE/1.0",
        Version::XAudiocast => "x-audiocast",
    }
}

/// The body of a form, as far as it announces its length. What is too long is nobody's title.
async fn form<S: Carrier>(socket: &mut S, head: &Head, early: Bytes) -> Vec<u8> {
    let Body::Length(length @ 1..=FORM_BYTES_MAX) = head.body() else {
        return Vec::new();
    };
    let length = length as usize;
    let mut form = early.to_vec();
    form.truncate(length);
    let missing = (length - form.len()) as u64;
    match socket.take(missing).read_to_end(&mut form).await {
        Ok(_) => form,
        Err(_) => Vec::new(),
    }
}

/// What a request is for. Everything that is not for the door itself is a page's.
fn endpoint(head: &Head, node: &Node) -> Endpoint {
    let path = head.path();
    match (head.method(), &*path) {
        ("OPTIONS", "*") => Endpoint::Options,
        ("SOURCE", _) => Endpoint::Source,
        ("PUT", _) => Endpoint::Put,
        ("GET" | "HEAD", "/admin/metadata") => Endpoint::Metadata,
        ("POST", "/admin/metadata") => Endpoint::MetadataForm,
        ("GET" | "HEAD" | "POST", "/admin.cgi") => Endpoint::ShoutcastMetadata,
        _ if !egress_http::claims(head, &node.registry) => Endpoint::Player,
        ("GET", _) => Endpoint::Listen,
        ("HEAD", _) => Endpoint::ListenHead,
        ("OPTIONS", _) => Endpoint::ListenOptions,
        _ => Endpoint::Player,
    }
}

async fn page<S: Carrier>(
    node: &Node,
    site: &Router,
    socket: S,
    raw: Bytes,
    visitor: Visitor,
    place: Place,
) {
    let peer = visitor.peer;
    let (handover, site) = (Handover::new(place), TowerToHyperService::new(site.clone()));
    let serve = service_fn(|mut request: hyper::Request<Incoming>| {
        let extensions = request.extensions_mut();
        extensions.insert(visitor);
        extensions.insert(handover.clone());
        site.call(request)
    });
    let served = hyper_http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(node.config.http.head_timeout)
        .keep_alive(false)
        .serve_connection(TokioIo::new(Prefixed::new(raw, socket)), serve);
    match tokio::time::timeout(PAGE_TIMEOUT, served).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%peer, %error, "a request for a page failed"),
        Err(_) => tracing::debug!(%peer, "a page was not read in time"),
    }
}

/// The client's address: the connection's, or what trusted proxies say it is. Each proxy appends
/// the address it was connected from, so the last one that is not a trusted proxy's counts.
fn client(node: &Node, head: &Head, peer: SocketAddr) -> SocketAddr {
    if !is_trusted(node, peer.ip()) {
        return peer;
    }
    let named: Vec<_> = head
        .header_values("x-forwarded-for")
        .flat_map(|value| value.split(','))
        .map(forwarded)
        .collect();
    let mut client = peer.ip();
    for address in named.into_iter().rev() {
        // Nothing to the left of nonsense was vouched for.
        let Some(address) = address else { break };
        client = address;
        if !is_trusted(node, address) {
            break;
        }
    }
    SocketAddr::new(client, peer.port())
}

async fn refuse_headless<S: Carrier>(node: &Node, socket: S, no_head: NoHead, peer: SocketAddr) {
    match no_head {
        NoHead::Gone => {}
        NoHead::Malformed(error) => {
            node.counts
                .reject_for(Rejected::HeadMalformed, peer, &error);
            let status = http1::status_of(error);
            let bytes = plain(node, Version::Http11, status, &error.to_string());
            Asked::nothing(peer).log_answer(node, &bytes);
            head::answer(socket, &bytes).await;
        }
        NoHead::Other(Sniff::Http2Preface) => {
            node.counts
                .reject_for(Rejected::Protocol, peer, &"HTTP/2 on an HTTP port");
            let text = "HTTP/2 is not served here; use HTTP/1.1.";
            let bytes = plain(node, Version::Http11, Status::VERSION_NOT_SUPPORTED, text);
            Asked::nothing(peer).log_answer(node, &bytes);
            head::answer(socket, &bytes).await;
        }
        NoHead::Other(spoken) => {
            let detail = format!("{spoken} on an HTTP port");
            node.counts.reject_for(Rejected::Protocol, peer, &detail);
            if spoken == Sniff::Shoutcast {
                head::answer(socket, SHOUTCAST).await;
            }
        }
    }
}

async fn refuse<S: Carrier>(
    node: &Node,
    socket: S,
    head: &Head,
    reason: Rejected,
    peer: SocketAddr,
) {
    node.counts.reject(reason, peer);
    let bytes = plain(node, head.version(), status_of(reason), &reason.to_string());
    Asked::by(head, peer).log_answer(node, &bytes);
    head::answer(socket, &bytes).await;
}

/// Answers a connection that there is no place for, without waiting for it. It may be lost.
pub(super) fn refuse_unread(node: &Node, socket: &TcpStream, reason: Rejected) {
    let words = reason.to_string();
    let answer = plain(node, Version::Http11, status_of(reason), &words);
    if let Err(error) = socket.try_write(&answer) {
        tracing::debug!(%error, "a refusal could not be written");
    }
}

/// The only place that decides with which status a limit is answered.
const fn status_of(reason: Rejected) -> Status {
    match reason {
        Rejected::Address | Rejected::PendingShare => Status::TOO_MANY_REQUESTS,
        Rejected::HeadTimeout => Status::REQUEST_TIMEOUT,
        Rejected::HeadMalformed | Rejected::Protocol | Rejected::Tls => Status::BAD_REQUEST,
        Rejected::Pending
        | Rejected::PendingSessions
        | Rejected::Listeners
        | Rejected::Joins
        | Rejected::Egress
        | Rejected::Turn
        | Rejected::Lateness
        | Rejected::SocketMemory
        | Rejected::Memory
        | Rejected::Descriptors
        | Rejected::Draining => Status::SERVICE_UNAVAILABLE,
    }
}

fn plain(node: &Node, version: Version, status: Status, text: &str) -> Vec<u8> {
    let head = ResponseHead::new(version, status)
        .header("Server", &node.config.http.server_header)
        .date(HttpDate(stamp::unix_seconds(SystemTime::now())))
        .header("Content-Type", "text/plain; charset=utf-8")
        .headers(http1::NO_CACHE)
        .headers(http1::CORS)
        .header("Connection", "close");
    let waits = matches!(
        status,
        Status::SERVICE_UNAVAILABLE | Status::TOO_MANY_REQUESTS
    );
    let head = if waits {
        head.header("Retry-After", &node.retry_after().to_string())
    } else {
        head
    };
    let mut bytes = head.content_length(text.len() as u64 + 1).finish();
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(b'\n');
    bytes
}
