//! The public pages: the list of streams, for each stream a player, its state and a page to publish it from a
//! browser, and Icecast's status document. Requests of WHIP and WHEP are routed here as well.
//!
//! Text from publishers is escaped where it is written. Pages run only this server's scripts, which their
//! Content-Security-Policy enforces.

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
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use config::BaseUrl;
use hyper::body::Body as _;
use serde::Deserialize;

use self::html::nothing_here;
use crate::access::{AccessLine, AccessLog, request_line};
use crate::door::limits::Handover;
use crate::http::route::Page;
use crate::http::status::{self, Question};
use crate::node::Node;
use crate::signalling;

pub(crate) use base::base;

/// Only what this server sends, and media that a script makes from it.
const POLICY: &str = "default-src 'self'; media-src 'self' blob:; worker-src 'self' blob:; \
    base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors *";

/// The same for a page that must not be framed, so that no other page can lead people to press its buttons.
const POLICY_UNFRAMED: &str = "default-src 'self'; media-src 'self' blob:; \
    base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'";

/// The client of a request, as the door knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor {
    /// Its address.
    pub(crate) peer: SocketAddr,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// The connection comes from a trusted proxy.
    pub(crate) is_proxied: bool,
}

/// The service that answers page requests. The router has already found the page; it comes with the request,
/// like the [`Visitor`] and the [`Handover`].
pub(crate) fn service(node: &Arc<Node>) -> Router {
    Router::new()
        .fallback(answer)
        .layer(middleware::from_fn_with_state(Arc::clone(node), finish))
        .with_state(Arc::clone(node))
}

async fn answer(
    State(node): State<Arc<Node>>,
    Extension(page): Extension<Page>,
    Extension(visitor): Extension<Visitor>,
    Extension(handover): Extension<Handover>,
    request: Request,
) -> Response {
    let headers = request.headers();
    let outside = || base(node.config.http.base_url.as_ref(), visitor, headers);
    let has_webrtc = node.rtc.is_some();
    match page {
        Page::List => html(StatusCode::OK, list::page(&node.registry, &outside())),
        Page::Status => status(&node, &outside(), request.uri()),
        Page::Asset(asset) => assets::file(asset).answer(headers),
        Page::Player(name) => {
            let (status, page) = player::page(&node.registry, &name, has_webrtc, &outside());
            html(status, page)
        }
        Page::Info(name) => info::answer(&node.registry, &name, has_webrtc),
        Page::Publish(name) => {
            let (status, page) = publish::page(&name, has_webrtc);
            html_by(POLICY_UNFRAMED, status, page)
        }
        Page::Rtc(address) => signalling::serve(&node, visitor, handover, address, request).await,
        Page::Preflight => StatusCode::NO_CONTENT.into_response(),
        Page::NotAllowed => {
            let allow = [(header::ALLOW, "GET, HEAD, OPTIONS")];
            (StatusCode::METHOD_NOT_ALLOWED, allow).into_response()
        }
        Page::Nothing => {
            let (status, page) =
                nothing_here(request.uri().path(), "There is nothing at this address.");
            html(status, page)
        }
    }
}

/// The query of `/status-json.xsl`.
#[derive(Debug, Deserialize)]
struct StatusQuery {
    mount: Option<String>,
}

fn status(node: &Node, base: &BaseUrl, uri: &Uri) -> Response {
    let query = match Query::<StatusQuery>::try_from_uri(uri) {
        Ok(Query(query)) => query,
        Err(rejection) => return rejection.into_response(),
    };
    let question = Question {
        base,
        mount: query.mount.as_deref(),
        server: &node.config.http.server_header,
        started: node.started,
    };
    Json(status::document(&node.registry, question)).into_response()
}

/// Completes every answer: CORS, the Server header, no sniffing of types; and logs it.
async fn finish(
    State(node): State<Arc<Node>>,
    Extension(page): Extension<Page>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    let began = (SystemTime::now(), Instant::now());
    let said = Said::by(&request, &page);
    let is_head = request.method() == Method::HEAD;
    let mut response = next.run(request).await;
    if is_head {
        without_body(&mut response);
    }
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
    said.log(&node.access, visitor, &response, began);
    response
}

/// The parts of a request that the access log keeps.
struct Said {
    request: String,
    referer: String,
    agent: String,
}

impl Said {
    fn by(request: &Request, page: &Page) -> Self {
        let header = |name| {
            let value = request.headers().get(name).map(HeaderValue::as_bytes);
            String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
        };
        let target = match page {
            Page::Rtc(address) => address.loggable(),
            _ => request.uri().to_string(),
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
        access: &AccessLog,
        visitor: Visitor,
        response: &Response,
        (since, began): (SystemTime, Instant),
    ) {
        access.write(&AccessLine {
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

/// For `HEAD`: the headers about the body stay as for `GET` (RFC 9110 §9.3.2).
fn without_body(response: &mut Response) {
    let body = std::mem::take(response.body_mut());
    if let Some(length) = body.size_hint().exact() {
        let headers = response.headers_mut();
        headers
            .entry(header::CONTENT_LENGTH)
            .or_insert(length.into());
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
