//! The public pages: the list of streams, a player for each, one to publish it from a browser, and
//! Icecast's status document. Requests of WHIP and WHEP come this way as well.
//!
//! Everything that came from a publisher is text here, escaped where it is written. Pages run
//! nothing but the scripts of this server, which their Content-Security-Policy holds them to.

mod assets;
mod list;
mod player;
mod publish;

use std::fmt::Write;
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
use serde_json::Value;

use crate::access::{Line, request_line};
use crate::door::limits::Handover;
use crate::node::Node;
use crate::routes::{Endpoint, Surface};
use crate::rtc;
use crate::status::{self, Question};

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
}

/// All pages.
pub(crate) fn router(node: &Arc<Node>) -> Router {
    let mut router = Router::new();
    for endpoint in Endpoint::on(Surface::Page) {
        let route = match endpoint {
            Endpoint::List => get(list),
            Endpoint::Status => get(status),
            Endpoint::Favicon => get(async || StatusCode::NO_CONTENT),
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

async fn list(State(node): State<Arc<Node>>) -> Response {
    html(StatusCode::OK, list::page(&node.registry))
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
    let (status, page) = player::page(&node.registry, path, has_webrtc);
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
    let origin = format!("{}://{}", visitor.scheme, host(&headers));
    let question = Question {
        origin: &origin,
        mount: query.mount.as_deref(),
        server: &node.config.http.server_header,
        started: node.started,
    };
    Json(status::document(&node.registry, question)).into_response()
}

/// The name by which the client reached us. Proxies send curious ones, so whatever is no host is
/// cut away rather than refused.
fn host(headers: &HeaderMap) -> String {
    let text = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let is_host = |c: &char| c.is_ascii_alphanumeric() || ".-_:[]".contains(*c);
    let host: String = text.chars().take_while(is_host).collect();
    if host.is_empty() {
        "localhost".to_owned()
    } else {
        host
    }
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

/// A page for an address without one.
fn nothing_here(why: &str) -> (StatusCode, String) {
    let why = escape(why);
    let main = format!("<h1>Not found</h1>\n<p>{why} <a href=\"/\">See who is on air.</a></p>\n");
    (StatusCode::NOT_FOUND, document("Not found", "", &main))
}

/// JSON that cannot end the element it stands in, whatever its strings hold.
fn inert(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// Text for HTML, between tags and in quoted attributes alike.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A page around its main part.
fn document(title: &str, head: &str, main: &str) -> String {
    let title = escape(title);
    let mut out = String::new();
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<link rel=\"stylesheet\" href=\"/_/style.css\">\n{head}</head>\n\
         <body>\n<main>\n{main}</main>\n<footer>Carillon</footer>\n</body>\n</html>\n"
    )
    .expect("a String takes all text");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_place() {
        let escaped = escape("<script>\"'&\u{0}\n");
        assert_eq!(escaped, "&lt;script&gt;&quot;&#39;&amp;  ");
    }

    #[test]
    fn json_stays_in_its_element() {
        let value = serde_json::json!({ "type": "</script><script>alert(1)//<!--&" });
        let text = inert(&value);
        assert!(!text.contains(['<', '>', '&']), "{text}");
        assert_eq!(
            serde_json::from_str::<Value>(&text).expect("still JSON"),
            value
        );
    }

    #[test]
    fn strange_hosts_are_cut_and_not_refused() {
        for (sent, expected) in [
            ("radio.example:8000", "radio.example:8000"),
            ("[::1]:8000", "[::1]:8000"),
            ("radio.example//listen/foo", "radio.example"),
            ("\"><script>", "localhost"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(sent));
            assert_eq!(host(&headers), expected);
        }
        assert_eq!(host(&HeaderMap::new()), "localhost");
    }
}
