//! The public pages: the list of streams, a player for each, what it has to know, one to publish the
//! stream from a browser, and Icecast's status document. Requests of WHIP and WHEP come this way as well.
//!
//! Everything that came from a publisher is text here, escaped where it is written. Pages run
//! nothing but the scripts of this server, which their Content-Security-Policy holds them to.

mod assets;
mod base;
mod html;
mod info;
mod list;
mod player;
mod publish;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::extract::{Extension, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use hyper::body::Body as _;
use serde::Deserialize;

use crate::access::{Line, request_line};
use crate::door::limits::Handover;
use crate::node::Node;
use crate::routes::{Endpoint, Surface};
use crate::rtc;
use crate::status::{self, Question};

pub(crate) use base::base;

/// Nothing but what this server sends itself, and media that a script makes out of it.
const POLICY: &str = "default-src 'self'; media-src 'self' blob:; worker-src 'self' blob:; \
    base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors *";

/// The same for a page that no other may show within itself, lest it lead people to press a button.
const POLICY_UNFRAMED: &str = "default-src 'self'; media-src 'self' blob:; \
    base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'";

/// Who asks, as the door knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor {
    /// Where from.
    pub(crate) peer: SocketAddr,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// The connection is that of a proxy whose word counts.
    pub(crate) is_proxied: bool,
}

/// All pages.
pub(crate) fn router(node: &Arc<Node>) -> Router {
    let mut router = Router::new();
    for endpoint in Endpoint::on(Surface::Page) {
        let route = match endpoint {
            Endpoint::List => get(list),
            Endpoint::Status => get(status),
            Endpoint::Favicon | Endpoint::Icon => {
                get(async |headers: HeaderMap| assets::ICON.answer(&headers))
            }
            Endpoint::ListScript => get(async |headers: HeaderMap| assets::LIST.answer(&headers)),
            Endpoint::InfoScript => get(async |headers: HeaderMap| assets::INFO.answer(&headers)),
            Endpoint::WaysScript => get(async |headers: HeaderMap| assets::WAYS.answer(&headers)),
            Endpoint::Script => get(async |headers: HeaderMap| assets::SCRIPT.answer(&headers)),
            Endpoint::Library => get(async |headers: HeaderMap| assets::LIBRARY.answer(&headers)),
            Endpoint::Style => get(async |headers: HeaderMap| assets::STYLE.answer(&headers)),
            Endpoint::RtcScript => get(async |headers: HeaderMap| assets::RTC.answer(&headers)),
            Endpoint::PublishScript => {
                get(async |headers: HeaderMap| assets::PUBLISH.answer(&headers))
            }
            Endpoint::Player => {
                // Names hold slashes, and what follows them counts, so no pattern fits.
                router = router.fallback(stream);
                continue;
            }
            // Behind a stream's name, like the player; or not of this surface.
            _ => continue,
        };
        router = router.route(endpoint.path(), route);
    }
    router
        .layer(middleware::from_fn_with_state(Arc::clone(node), finish))
        .with_state(Arc::clone(node))
}

async fn list(
    State(node): State<Arc<Node>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Response {
    let base = base(node.config.http.base_url.as_ref(), visitor, &headers);
    html(StatusCode::OK, list::page(&node.registry, &base))
}

/// Whatever stands behind a stream's name.
async fn stream(
    State(node): State<Arc<Node>>,
    Extension(visitor): Extension<Visitor>,
    Extension(handover): Extension<Handover>,
    request: Request,
) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    if let Some(address) = rtc::Address::of(method, path) {
        return rtc::serve(&node, visitor, handover, address, request).await;
    }
    if method != Method::GET && method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let has_webrtc = node.rtc.is_some();
    if let Some(name) = publish::stream(path) {
        let (status, page) = publish::page(&name, has_webrtc);
        return html_by(POLICY_UNFRAMED, status, page);
    }
    if let Some(name) = info::stream(path) {
        return info::answer(&node.registry, &name, has_webrtc);
    }
    let base = base(
        node.config.http.base_url.as_ref(),
        visitor,
        request.headers(),
    );
    let (status, page) = player::page(&node.registry, path, has_webrtc, &base);
    html(status, page)
}

/// What `/status-json.xsl` may be asked.
#[derive(Debug, Deserialize)]
struct StatusQuery {
    mount: Option<String>,
}

async fn status(
    State(node): State<Arc<Node>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<StatusQuery>,
    headers: HeaderMap,
) -> Response {
    let base = base(node.config.http.base_url.as_ref(), visitor, &headers);
    let question = Question {
        base: &base,
        mount: query.mount.as_deref(),
        server: &node.config.http.server_header,
        started: node.started,
    };
    Json(status::document(&node.registry, question)).into_response()
}

/// What every answer has: CORS, the Server header, no guessing of types; and its line in the log.
async fn finish(
    State(node): State<Arc<Node>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    let began = (SystemTime::now(), Instant::now());
    let rtc = rtc::Address::of(request.method(), request.uri().path());
    // WHIP and WHEP answer for themselves.
    let preflight = request.method() == Method::OPTIONS && rtc.is_none();
    let said = Said::by(&request, rtc.as_ref());
    let mut response = if preflight {
        StatusCode::NO_CONTENT.into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    for (name, value) in http1::CORS {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("the table holds header names");
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    if let Ok(server) = HeaderValue::from_str(&node.config.http.server_header) {
        headers.insert(header::SERVER, server);
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, no-store"));
    said.log(&node, visitor, &response, began);
    response
}

/// The parts of a request that the access log keeps.
struct Said {
    request: String,
    referer: String,
    agent: String,
}

impl Said {
    /// `rtc` is what the path means to WHIP and WHEP.
    fn by(request: &Request, rtc: Option<&rtc::Address>) -> Self {
        let header = |name| {
            let value = request.headers().get(name).map(HeaderValue::as_bytes);
            String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
        };
        let target = match rtc {
            Some(address) => address.loggable(),
            None => request.uri().to_string(),
        };
        Self {
            request: request_line(
                request.method().as_str(),
                &target,
                &format!("{:?}", request.version()),
            ),
            referer: header(header::REFERER),
            agent: header(header::USER_AGENT),
        }
    }

    fn log(
        &self,
        node: &Node,
        visitor: Visitor,
        response: &Response,
        (since, began): (SystemTime, Instant),
    ) {
        node.access.write(&Line {
            peer: visitor.peer.ip(),
            since,
            request: &self.request,
            status: response.status().as_u16(),
            bytes: response.body().size_hint().exact().unwrap_or_default(),
            referer: &self.referer,
            agent: &self.agent,
            duration: began.elapsed(),
        });
    }
}

fn html(status: StatusCode, page: String) -> Response {
    html_by(POLICY, status, page)
}

fn html_by(policy: &'static str, status: StatusCode, page: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::REFERRER_POLICY, "same-origin"),
    ];
    (status, headers, page).into_response()
}
