//! Headers common to all replies: CORS, the Server header, no sniffing of types.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::charged;
use crate::front_door::FrontDoor;
use crate::reply::Reply;
use crate::request::Request;

/// Completes a reply; if `is_charged`, the reply is made for its client alone and is charged to it.
pub(super) fn finish(request: &Request<'_>, is_charged: bool, reply: Reply) -> Reply {
    let mut reply = match (request.is_head(), is_charged) {
        (true, _) => without_body(reply),
        (false, true) => charged::charge(request, reply),
        (false, false) => reply,
    };
    complete(request.front, &mut reply);
    reply
}

/// Headers that all replies have, unless a page has set them otherwise.
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

/// Adds the headers that all replies have.
pub(crate) fn complete(front: &FrontDoor, reply: &mut Reply) {
    reply.headers.reserve(COMMON.len() + 1);
    add_common(&mut reply.headers, &front.config.http.server_header);
}

/// Adds the headers that all replies have, unless they are set already. The Server header is always set.
pub fn add_common(headers: &mut HeaderMap, server: &str) {
    for (name, value) in COMMON.iter() {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    if let Ok(server) = HeaderValue::from_str(server) {
        headers.insert(header::SERVER, server);
    }
}

/// Removes the body for `HEAD`: the headers about the body stay as for `GET` (RFC 9110 §9.3.2).
fn without_body(reply: Reply) -> Reply {
    let length = reply.length();
    let mut reply = Reply {
        headers: reply.headers,
        ..Reply::new(reply.status)
    };
    if let Some(length) = length {
        let headers = &mut reply.headers;
        headers
            .entry(header::CONTENT_LENGTH)
            .or_insert(length.into());
    }
    reply
}
