//! Requests to pages, WHIP and WHEP, which leave the connection for the next request.
//!
//! Made by [`connection`](crate::connection) once per request, over HTTP/1 and HTTP/2 alike.

use std::sync::Arc;

use auth::{Fields, Permissions as _, Shown};
use config::{BaseUrl, PlayAccess};
use fanout::Protocol;
use fanout::gate::{Authorized, Denied, Gate, Play};
use http::uri::{PathAndQuery, Uri};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use http1::{Head, Query};
use limits::Handover;
use media::StreamName;

use crate::base_url::base;
use crate::front_door::FrontDoor;
use crate::operators;
use crate::visitor::Visitor;

/// Request to a page, WHIP or WHEP, with its client.
pub(crate) struct Request<'a> {
    pub(crate) front: &'a Arc<FrontDoor>,
    pub(crate) visitor: Visitor,
    /// Handover of the connection, which a reply may keep while it lasts.
    pub(crate) handover: Handover,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// Body as far as the page needs it; empty if it needs none.
    pub(crate) body: Vec<u8>,
}

impl<'a> Request<'a> {
    /// Creates the request of a head, without its body as yet.
    ///
    /// # Errors
    /// If the head is not valid for the `http` crate.
    pub(crate) fn of(
        front: &'a Arc<FrontDoor>,
        visitor: Visitor,
        handover: Handover,
        head: &Head,
    ) -> Result<Self, http1::Error> {
        let (method, uri, headers) = parts(head)?;
        Ok(Self {
            front,
            visitor,
            handover,
            method,
            uri,
            headers,
            body: Vec::new(),
        })
    }

    /// Whether the client wants no body.
    pub(crate) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// Returns the query as it was sent, without the question mark; empty without one.
    pub(crate) fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// Returns the parameters of the query.
    pub(crate) fn parameters(&self) -> Query<'_> {
        Query::new(self.query().as_bytes())
    }

    /// Returns the address under which the client reaches this server.
    pub(crate) fn base(&self) -> BaseUrl {
        let configured = self.front.config.http.base_url.as_ref();
        base(configured, self.visitor, &self.headers)
    }

    /// Returns what the request presents of its client: credentials and headers.
    pub(crate) fn shown(&self) -> Shown<'_, Fields<'_>> {
        Shown::by(Fields(&self.headers), self.query())
    }

    /// Queries the gate whether the client may play a stream.
    ///
    /// # Errors
    /// The reason for a denial.
    pub(crate) async fn may_play(&self, stream: &StreamName) -> Result<Authorized<Play>, Denied> {
        let shown = self.shown();
        let request = shown.request(stream, Protocol::Http.label(), self.visitor.remote());
        self.front.gate.play(&request).await?.only_for(stream)
    }

    /// Queries the gate whether the client is the operator, by the password in the headers or else by `password`.
    ///
    /// # Errors
    /// The reason for a denial.
    pub(crate) async fn administer(&self, password: Option<String>) -> Result<(), Denied> {
        let password = operators::password(&self.headers).or(password);
        let peer = self.visitor.peer.ip();
        let permission = self.front.gate.administer(peer, password.as_deref());
        permission.await.map(drop)
    }

    /// Returns the permission by which the client may see what a stream plays. A stream that needs a credential and is in no
    /// list requires permission to listen; for others the result is `None`, as they need none.
    ///
    /// # Errors
    /// The reason why the client may not listen, and so may not see it.
    pub(crate) async fn may_be_reported(
        &self,
        stream: &StreamName,
    ) -> Result<Option<Authorized<Play>>, Denied> {
        let config = &self.front.config;
        if config.play_access(stream) == PlayAccess::Open || config.is_public(stream) {
            return Ok(None);
        }
        self.may_play(stream).await.map(Some)
    }

    /// Whether no cache may give the reply about a stream to others: the client has presented a credential, or the reply
    /// depends on the client's identity.
    pub(crate) fn is_private(&self, stream: &StreamName) -> bool {
        let shows_credential =
            self.headers.contains_key(header::AUTHORIZATION) || self.uri.query().is_some();
        shows_credential || self.front.config.is_judged_by_client(stream)
    }
}

/// Converts method, target and headers to the types of the `http` crate.
fn parts(head: &Head) -> Result<(Method, Uri, HeaderMap), http1::Error> {
    let target = PathAndQuery::try_from(match head.origin_form() {
        // Empty for the absolute form, which may have no path.
        b"" => b"/",
        origin => origin,
    });
    let target = target.map_err(|_| http1::Error::TargetMalformed)?;
    let method = Method::from_bytes(head.method().as_bytes());
    let method = method.map_err(|_| http1::Error::RequestLineMalformed)?;
    let mut headers = HeaderMap::new();
    for (name, value) in head.headers() {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(http1::Error::HeaderMalformed);
        };
        headers.append(name, value);
    }
    Ok((method, target.into(), headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_keep_what_the_client_said() {
        let head = |text: &str| {
            let read = http1::HeadReader::default().push(text.as_bytes());
            read.expect("a head").expect("a whole head").0
        };
        let text = "PATCH http://h:1/a%20b?c=d HTTP/1.1\r\nHost: h:1\r\nX-A: 1\r\nx-a: ä\r\n\r\n";
        let (method, uri, headers) = parts(&head(text)).expect("a request");
        assert_eq!(method, Method::PATCH);
        assert_eq!(uri, "/a%20b?c=d");
        assert_eq!(headers.get_all("x-a").iter().count(), 2);
        let (_, uri, _) = parts(&head("GET http://h HTTP/1.0\r\n\r\n")).expect("a request");
        assert_eq!(uri, "/");
        for target in ["/<script>", "x", "/a b"] {
            let head = head(&format!("GET {target} HTTP/1.0\r\n\r\n"));
            let refused = parts(&head).map(drop);
            assert_eq!(refused, Err(http1::Error::TargetMalformed), "{target}");
        }
    }
}
