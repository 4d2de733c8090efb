//! The public pages: the list of streams, for each stream a player, its state and a page to publish it from a
//! browser, and Icecast's status document. Requests of WHIP and WHEP are routed here as well.
//!
//! Text from publishers is escaped where it is written. Pages run only this server's scripts, which their
//! Content-Security-Policy enforces.

mod assets;
mod base;
mod finish;
mod hls;
mod html;
mod info;
mod list;
mod player;
mod publish;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Extension, Query, Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use config::BaseUrl;
use egress_hls::Resource;
use media::StreamName;
use serde::Deserialize;

use self::html::nothing_here;
use crate::door::limits::Handover;
use crate::http::routes::Endpoint;
use crate::http::status::{self, Question};
use crate::node::Node;
use crate::signalling;

pub(crate) use base::base;
pub(crate) use hls::Limited;

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

/// Which page, document, or WHIP or WHEP address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Page {
    /// The list of public streams.
    List,
    /// Icecast's status document.
    Status,
    /// The embedded file of this row.
    Asset(Endpoint),
    /// The player page of a stream.
    Player(StreamName),
    /// The state that the player page needs.
    Info(StreamName),
    /// The page that publishes a stream from a browser.
    Publish(StreamName),
    /// A playlist or a piece of HLS.
    Hls(StreamName, Resource),
    /// A session of WHIP or WHEP, or an endpoint that opens one.
    Rtc(signalling::Address),
    /// A CORS preflight.
    Preflight,
    /// There may be a resource, but not for this method.
    NotAllowed,
    /// There is no resource.
    Nothing,
}

impl Page {
    /// What a path means that names no stream.
    pub(crate) fn of(method: &str, path: &str) -> Self {
        let fixed = Self::fixed(path);
        if fixed.is_none()
            && let Some(address) = signalling::Address::of(method, path)
        {
            return Self::Rtc(address);
        }
        match (method, fixed) {
            ("GET" | "HEAD", Some(page)) => page,
            ("GET" | "HEAD", None) => Self::beside(path).unwrap_or(Self::Nothing),
            ("OPTIONS", _) => Self::Preflight,
            _ => Self::NotAllowed,
        }
    }

    /// The page at a fixed address, without a stream's name.
    fn fixed(path: &str) -> Option<Self> {
        let row = |endpoint: Endpoint, page| (endpoint.path() == path).then_some(page);
        row(Endpoint::List, Self::List)
            .or_else(|| row(Endpoint::Status, Self::Status))
            .or_else(|| assets::at(path).map(Self::Asset))
    }

    /// The page that a suffix of a stream's name means.
    fn beside(path: &str) -> Option<Self> {
        let name = |suffix| StreamName::parse(path.strip_suffix(suffix)?).ok();
        let publish = name("/publish").map(Self::Publish);
        publish
            .or_else(|| {
                let (stream, resource) = Resource::of(path)?;
                Some(Self::Hls(StreamName::parse(stream).ok()?, resource))
            })
            .or_else(|| name("/info.json").map(Self::Info))
            .or_else(|| name("/").map(Self::Player))
    }

    /// Whether the answer may take a while, so that it matters whether the client still waits.
    pub(crate) fn may_wait(&self) -> bool {
        matches!(self, Self::Hls(..) | Self::Rtc(_))
    }

    /// Whether the answer depends on the request's body.
    pub(crate) fn reads_body(&self) -> bool {
        matches!(self, Self::Rtc(_))
    }
}

/// The service that answers page requests. The router has already found the page; it comes with the request,
/// like the [`Visitor`] and the [`Handover`].
pub(crate) fn service(node: &Arc<Node>) -> Router {
    Router::new()
        .fallback(answer)
        .layer(middleware::from_fn_with_state(
            Arc::clone(node),
            finish::finish,
        ))
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
        Page::Asset(endpoint) => assets::answer(endpoint, headers),
        Page::Player(name) => {
            let (status, page) = player::page(&node.registry, &name, has_webrtc, &outside());
            html(status, page)
        }
        Page::Info(name) => info::answer(&node, &name),
        Page::Publish(name) => {
            let (status, page) = publish::page(&name, has_webrtc);
            html_by(POLICY_UNFRAMED, status, page)
        }
        Page::Hls(stream, resource) => {
            hls::answer(&node, visitor, &stream, &resource, request).await
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
