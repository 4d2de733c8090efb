//! The public pages: the list of streams, for each stream a player, its newest picture, its state and a page to
//! publish it from a browser; the list as JSON, playlists for player programs, and Icecast's status document and
//! administration. Requests of WHIP and WHEP are routed here as well.
//!
//! Text from publishers is escaped where it is written. Pages run only this server's scripts, which their
//! Content-Security-Policy enforces.

pub(super) mod assets;
mod base;
mod charged;
mod files;
mod finish;
mod hls;
mod html;
pub(super) mod icecast;
mod info;
pub mod kept;
mod lasting;
mod list;
mod lists;
pub mod operator;
mod permit;
mod playbacks;
mod player;
mod playlist;
mod presentation;
mod public;
mod publish;
mod recordings;
mod rendered;
pub mod shoutcast;
mod still;
mod stills;
mod title_clients;
mod titles;
mod xml;

use std::borrow::Cow;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use config::BaseUrl;
use http1::OWN_QUERY_BYTES_MAX;
use limits::Handover;
use media::StreamName;
use serde::Deserialize;
use uploads::Uploader;

use self::html::nothing_here;
use self::lists::Which;
use self::presentation::Presentation;
use crate::front_door::FrontDoor;
use crate::page::Page;
use crate::signalling;
use crate::status::{self, Question};
use crate::visitor::Visitor;

pub use base::base;
pub use files::Sendable;
pub use finish::add_common;
pub use hls::answer_directly;
pub use icecast::watch;
pub use playbacks::IsListener;
pub use playlist::Playlist;

/// A Content-Security-Policy: only what this server sends, and media that a script makes from it; beside that what is
/// named.
macro_rules! policy {
    ($($directive:literal),*) => {
        concat!(
            "default-src 'self'; media-src 'self' blob:; object-src 'none'"
            $(, "; ", $directive)*
        )
    };
}

/// Where media is from, in each of them.
const MEDIA: &str = "media-src 'self' blob:";

const POLICY: &str = policy!("base-uri 'none'", "form-action 'none'", "frame-ancestors *");

/// For the list: its search leads to itself.
const POLICY_LIST: &str = policy!("base-uri 'none'", "form-action 'self'", "frame-ancestors *");

/// For the player: a title may name its picture, which is anywhere.
const POLICY_PLAYER: &str = policy!(
    "worker-src 'self' blob:",
    "img-src 'self' http: https:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors *"
);

/// The same for frames: addresses in it are relative to the player page's.
const POLICY_EMBED: &str = policy!(
    "worker-src 'self' blob:",
    "img-src 'self' http: https:",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors *"
);

/// For a page that must not be framed, so that no other page can lead people to press its buttons.
const POLICY_UNFRAMED: &str = policy!(
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
);

/// Answers a request for a page.
pub async fn respond(
    front: &Arc<FrontDoor>,
    page: Page,
    visitor: Visitor,
    handover: Handover,
    request: Request,
) -> Response {
    let begun = finish::Begun::by(&request, &page);
    let which = page.list(request.uri().query().is_some()).map(|list| {
        let configured = front.config.http.base_url.as_ref();
        let base = base(configured, visitor, request.headers());
        Which::new(list, request.uri(), base)
    });
    let made = make(front, page.clone(), visitor, handover, request);
    let response = match which {
        Some(which) => front.pages.lists.answer(which, visitor, made).await,
        None => made.await,
    };
    begun.finish(front, &page, visitor, response)
}

/// Makes a page.
async fn make(
    front: &Arc<FrontDoor>,
    page: Page,
    visitor: Visitor,
    handover: Handover,
    request: Request,
) -> Response {
    let headers = request.headers();
    let query = request.uri().query().unwrap_or_default();
    if page.repeats_query() && query.len() > OWN_QUERY_BYTES_MAX {
        let words = format!("The query is longer than {OWN_QUERY_BYTES_MAX} bytes.\n");
        return (StatusCode::URI_TOO_LONG, words).into_response();
    }
    let outside = || base(front.config.http.base_url.as_ref(), visitor, headers);
    let has_webrtc = front.rtc.is_some();
    let uri = request.uri();
    let presentation = |name| Presentation::shown_to(front, visitor, name, (headers, uri));
    match page {
        Page::List => {
            let asked = request.uri().query().unwrap_or_default();
            let page = list::page(&front.registry, asked, &outside());
            html_by(POLICY_LIST, StatusCode::OK, page)
        }
        Page::PublicStreams => {
            let base = outside();
            public::answer(front, visitor.peer.ip(), &base, headers)
        }
        Page::Status => status(front, visitor, &outside(), (headers, uri)).await,
        Page::Asset(endpoint) => assets::answer(endpoint, headers),
        Page::Player(name) => {
            let view = player::View::Page(&outside());
            let (status, page) = player::page(&presentation(name).await, has_webrtc, view);
            html_by(&player_policy(front.uploads.as_deref()), status, page)
        }
        Page::Embed(name) => {
            let view = player::View::Frame;
            let (status, page) = player::page(&presentation(name).await, has_webrtc, view);
            html_by(POLICY_EMBED, status, page)
        }
        Page::Still(name) => still::answer(front, visitor, &name, request).await,
        Page::Info(name) => {
            let query = http1::Query::new(query.as_bytes());
            if query.get(info::WAITS).is_some() {
                info::wait(front, &name).await;
            }
            info::answer(&presentation(name).await, has_webrtc)
        }
        Page::Titles(name) => {
            let lead = Presentation::of(front, name.clone());
            match presentation::telling(front, visitor, lead.stream(), headers, uri).await {
                Ok(permission) => {
                    let wanted = (name, request.method());
                    titles::answer(front, visitor, &handover, wanted, permission)
                }
                Err(denied) => permit::refuse(denied),
            }
        }
        Page::Publish(name) => {
            let (status, page) = publish::page(&name, has_webrtc);
            html_by(POLICY_UNFRAMED, status, page)
        }
        Page::Hls(stream, resource) => {
            let query = request.uri().query().unwrap_or_default();
            hls::answer(front, visitor, (&stream, &resource), headers, query).await
        }
        Page::File(address) => files::answer(front, visitor, &handover, &address, request).await,
        Page::Playlist(body, playlist) => {
            playlist::answer(&front.registry, &outside(), &body, playlist)
        }
        Page::Icecast(endpoint) => {
            let query = request.uri().query().unwrap_or_default();
            icecast::answer(front, visitor, endpoint, &outside(), (headers, query)).await
        }
        Page::Shoutcast(endpoint) => {
            let query = request.uri().query().unwrap_or_default();
            shoutcast::answer(front, visitor, endpoint, &outside(), (headers, query)).await
        }
        Page::Recordings(name) => recordings::list(front, visitor, &name, request).await,
        Page::Past(address) => {
            recordings::answer(front, visitor, &handover, &address, request).await
        }
        Page::Rtc(address) => signalling::serve(front, visitor, handover, address, request).await,
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

/// Icecast's status document. A mount that a client is not told of is none.
async fn status(
    front: &FrontDoor,
    visitor: Visitor,
    base: &BaseUrl,
    (headers, uri): (&HeaderMap, &Uri),
) -> Response {
    let query = match Query::<StatusQuery>::try_from_uri(uri) {
        Ok(Query(query)) => query,
        Err(rejection) => return rejection.into_response(),
    };
    let mut mount = query.mount.as_deref();
    if let Some(stream) = mount.and_then(|mount| StreamName::parse(mount).ok())
        && presentation::telling(front, visitor, &stream, headers, uri)
            .await
            .is_err()
    {
        mount = Some("");
    }
    let question = Question {
        base,
        mount,
        http: &front.config.http,
        started: front.started,
    };
    Json(status::document(&front.registry, question)).into_response()
}

fn html(status: StatusCode, page: String) -> Response {
    html_by(POLICY, status, page)
}

/// The policy of the player page: the storage may have what it plays of the stream's recordings.
fn player_policy(uploads: Option<&Uploader>) -> Cow<'static, str> {
    let Some(uploads) = uploads else {
        return POLICY_PLAYER.into();
    };
    let media = format!("{MEDIA} {}", uploads.origin());
    POLICY_PLAYER.replacen(MEDIA, &media, 1).into()
}

fn html_by(policy: &str, status: StatusCode, page: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::REFERRER_POLICY, "same-origin"),
    ];
    (status, headers, page).into_response()
}
