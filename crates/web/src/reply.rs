//! Answers of pages, of WHIP and WHEP: a status, headers and a body, whatever carries them.
//!
//! A transport ([`connection`](crate::connection)) writes them. One that is sent to a listener says when that may hear no
//! more, and one whose bytes are a file's says which, so that the kernel can send them.

use std::io;

use bytes::Bytes;
use fanout::gate::Revocation;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Body as HttpBody;
use serde_json::Value;

use crate::sendable::Sendable;

/// The bytes of an answer.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// See the module's description.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, without those about the connection.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Body,
    /// The end of what its client may hear, if that is a listener.
    pub(crate) listener: Option<Revocation>,
    /// The same bytes as its body, for the kernel to send.
    pub(crate) file: Option<Sendable>,
}

impl Reply {
    /// Without headers and body.
    pub fn new(status: StatusCode) -> Self {
        Self::of(status, Full::default().map_err(|never| match never {}))
    }

    /// A body that is made as it is sent.
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

    /// A body of a media type that is there.
    pub fn full(status: StatusCode, media_type: &str, body: impl Into<Bytes>) -> Self {
        let body = Full::new(body.into()).map_err(|never| match never {});
        Self::of(status, body).with(header::CONTENT_TYPE, media_type)
    }

    /// A text for people: lines, each with its end.
    pub fn text(status: StatusCode, words: impl Into<Bytes>) -> Self {
        Self::full(status, "text/plain; charset=utf-8", words)
    }

    /// A document in JSON.
    pub fn json(document: &Value) -> Self {
        Self::full(StatusCode::OK, "application/json", document.to_string())
    }

    /// The same with another status.
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

    /// Names its version by `tag`, and how caches may keep it; without its body where the client, which sent these headers, has that
    /// version.
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

    /// The length of its body, if it is known.
    pub fn length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }
}

/// As routers have it.
impl From<Reply> for Response<Body> {
    fn from(reply: Reply) -> Self {
        let mut response = Self::new(reply.body);
        *response.status_mut() = reply.status;
        *response.headers_mut() = reply.headers;
        response
    }
}
