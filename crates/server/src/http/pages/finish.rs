//! What every answer has: CORS, the Server header, no sniffing of types, and its line in the access log.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::extract::{Extension, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::Body as _;

use super::{Page, Visitor};
use crate::access::{AccessLine, AccessLog, request_line};
use crate::node::Node;

/// Completes an answer, and logs it.
pub(super) async fn finish(
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
    // A viewer of HLS has one line, when it has left, like any other listener.
    if !matches!(page, Page::Hls(..)) {
        said.log(&node.access, visitor, &response, began);
    }
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
