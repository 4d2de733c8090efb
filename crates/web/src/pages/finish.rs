//! What every answer has: CORS, the Server header, no sniffing of types, and its line in the access log.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use hyper::body::Body as _;
use reports::access::{AccessLine, AccessLog, request_line};

use super::charged;
use super::playbacks::IsListener;
use crate::front_door::FrontDoor;
use crate::page::Page;
use crate::visitor::Visitor;

/// A request that is being answered.
pub(super) struct Begun {
    said: Said,
    is_head: bool,
    at: (SystemTime, Instant),
}

impl Begun {
    pub(super) fn by(request: &Request, page: &Page) -> Self {
        Self {
            said: Said::by(request, page),
            is_head: request.method() == Method::HEAD,
            at: (SystemTime::now(), Instant::now()),
        }
    }

    /// Completes the answer, and logs it.
    pub(super) fn finish(
        self,
        front: &FrontDoor,
        page: &Page,
        visitor: Visitor,
        mut response: Response,
    ) -> Response {
        match self.is_head {
            true => without_body(&mut response),
            false => response = charged::charge(front, visitor, page, response),
        }
        complete(front, &mut response);
        // A listener has one line, when it has left.
        let is_listener = response.extensions().get::<IsListener>().is_some();
        if !is_listener && !matches!(page, Page::Hls(..)) {
            self.said.log(&front.access, visitor, &response, self.at);
        }
        response
    }
}

/// The headers that all answers have, unless a page has decided otherwise.
static COMMON: LazyLock<Vec<(HeaderName, HeaderValue)>> = LazyLock::new(|| {
    let cors = http1::CORS.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("the table holds header names");
        (name, HeaderValue::from_static(value))
    });
    let more = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-cache, no-store"),
    ];
    let more = more.map(|(name, value)| (name, HeaderValue::from_static(value)));
    cors.chain(more).collect()
});

/// Adds the headers that all answers have.
pub(super) fn complete(front: &FrontDoor, response: &mut Response) {
    let headers = response.headers_mut();
    headers.reserve(COMMON.len() + 1);
    add_common(headers, &front.config.http.server_header);
}

/// Adds the headers that all answers have, unless they are there.
pub fn add_common(headers: &mut HeaderMap, server: &str) {
    for (name, value) in COMMON.iter() {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    if let Ok(server) = HeaderValue::from_str(server) {
        headers.insert(header::SERVER, server);
    }
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
