//! Replies of pages, WHIP and WHEP: a status, headers and a body, independent of the transport.
//!
//! A transport ([`connection`](crate::connection)) writes them. A reply to a listener carries the listener's revocation, and
//! one whose bytes are a file's carries the file, so that the kernel can send it.

use std::io;

use bytes::Bytes;
use fanout::gate::Revocation;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Body as HttpBody;
use serde_json::Value;

use crate::sendable::Sendable;

/// Body of a reply.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Reply of a page, of WHIP or of WHEP.
#[derive(Debug)]
pub struct Reply {
    /// Status.
    pub status: StatusCode,
    /// Headers, without those about the connection.
    pub headers: HeaderMap,
    /// Body.
    pub body: Body,
    /// Revocation of the listener, if the client is one.
    pub(crate) listener: Option<Revocation>,
    /// Same bytes as the body, for the kernel to send.
    pub(crate) file: Option<Sendable>,
}

impl Reply {
    /// Creates a reply without headers and body.
    pub fn new(status: StatusCode) -> Self {
        Self::of(status, Full::default().map_err(|never| match never {}))
    }

    /// Creates a reply whose body is made as it is sent.
    pub fn of(
        status: StatusCode,
        body: impl HttpBody<Data = Bytes, Error = io::Error> + Send + 'static,
    ) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: body.boxed_unsync(),
            listener: None,
            file: None,
        }
    }

    /// Creates a reply whose body of a media type is in memory.
    pub fn full(status: StatusCode, media_type: &str, body: impl Into<Bytes>) -> Self {
        let body = Full::new(body.into()).map_err(|never| match never {});
        Self::of(status, body).with(header::CONTENT_TYPE, media_type)
    }

    /// Creates a reply of text for people: lines, each with its end.
    pub fn text(status: StatusCode, words: impl Into<Bytes>) -> Self {
        Self::full(status, "text/plain; charset=utf-8", words)
    }

    /// Creates a reply of a JSON document.
    pub fn json(document: &Value) -> Self {
        Self::full(StatusCode::OK, "application/json", document.to_string())
    }

    /// Returns the reply with another status.
    pub fn but(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Sets a header. A value that no header can have is left out.
    pub fn with<V: TryInto<HeaderValue>>(mut self, name: HeaderName, value: V) -> Self {
        if let Ok(value) = value.try_into() {
            self.headers.insert(name, value);
        }
        self
    }

    /// Sets the version's `tag` and the caching rule. Becomes 304 without a body if the client, which sent these headers, has
    /// that version.
    pub(crate) fn versioned(self, tag: &str, caching: &'static str, sent: &HeaderMap) -> Self {
        let known = sent.get_all(header::IF_NONE_MATCH).into_iter();
        let known = known.filter_map(|line| line.to_str().ok());
        let reply = match http1::has_version(known, tag) {
            true => Self::new(StatusCode::NOT_MODIFIED),
            false => self,
        };
        reply
            .with(header::ETAG, tag)
            .with(header::CACHE_CONTROL, caching)
    }

    /// Returns the length of the body in bytes, if it is known.
    pub fn length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }
}

/// Conversion for routers.
impl From<Reply> for Response<Body> {
    fn from(reply: Reply) -> Self {
        let mut response = Self::new(reply.body);
        *response.status_mut() = reply.status;
        *response.headers_mut() = reply.headers;
        response
    }
}
