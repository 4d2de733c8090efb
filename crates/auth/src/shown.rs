//! Client properties of an HTTP request: its credentials, its program, the page that referred it.
//!
//! Requests of listeners, HLS viewers, pages and WebRTC sessions all reach the gate in this form, once per request.

use std::fmt;

use fanout::gate::{Denied, Headers, Remote, Request};
use fanout::{Introduction, ListenerRecord, Permit};
use http::{HeaderMap, StatusCode};
use http1::{Credentials, Password};
use media::StreamName;

/// Credentials and client properties of one HTTP request; build it with [`by`](Self::by) and pass [`request`](Self::request) to
/// the gate. All texts are untrusted.
pub struct Shown<'a, H> {
    headers: H,
    query: &'a str,
    /// Boxed, because thousands of requests may wait and few have one.
    basic: Option<Box<Credentials>>,
    /// Bearer token of the header, else the key in the address.
    token: Option<Password>,
    is_in_address: bool,
}

/// Prints nothing that may be secret.
impl<H> fmt::Debug for Shown<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").finish_non_exhaustive()
    }
}

impl<'a, H: Headers> Shown<'a, H> {
    /// Reads the headers and the query, which is unmodified and without the question mark.
    pub fn by(headers: H, query: &'a str) -> Self {
        let authorization = headers.header("authorization").unwrap_or_default();
        let bearer = http1::bearer(authorization);
        Self {
            basic: http1::basic(authorization).map(Box::new),
            is_in_address: bearer.is_none(),
            token: bearer.or_else(|| http1::key_in(query)),
            headers,
            query,
        }
    }

    /// Prefers a password in the header to a key in the address.
    #[must_use]
    pub fn password_first(self) -> Self {
        let is_second = self.is_in_address && self.basic.is_some();
        let token = self.token.filter(|_| !is_second);
        Self { token, ..self }
    }

    /// Ignores user and password, for protocols that have only tokens.
    #[must_use]
    pub fn tokens_alone(self) -> Self {
        Self {
            basic: None,
            ..self
        }
    }

    /// Returns the token of the header, else the key in the address.
    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(Password::reveal)
    }

    /// Whether the token came from the address; URLs derived from it need the token as well.
    pub fn is_in_address(&self) -> bool {
        self.is_in_address && self.token.is_some()
    }

    /// Returns the name of the client's program; empty if it sends none.
    pub fn agent(&self) -> &str {
        self.text("user-agent")
    }

    /// Returns the page that referred the client; some browsers send only its origin.
    fn referer(&self) -> &str {
        let mut pages = ["referer", "origin"]
            .map(|name| self.text(name))
            .into_iter();
        pages.find(|page| !page.is_empty()).unwrap_or_default()
    }

    fn text(&self, name: &str) -> &str {
        self.headers.header(name).unwrap_or_default()
    }

    /// Builds the request to the gate.
    pub fn request<'r>(
        &'r self,
        stream: &'r StreamName,
        protocol: &'static str,
        remote: impl Into<Remote>,
    ) -> Request<'r> {
        let basic = self.basic.as_ref();
        Request {
            agent: self.agent(),
            referer: self.referer(),
            user: basic.map(|basic| &basic.user[..]),
            password: basic.map(|basic| basic.password.reveal()),
            token: self.token(),
            query: self.query,
            headers: Some(&self.headers),
            ..Request::new(stream, protocol, remote)
        }
    }

    /// Builds the listener's record entry. `request` is its request line without the query, which may hold a key.
    pub fn introduction(
        &self,
        remote: impl Into<Remote>,
        request: String,
        permit: Option<Permit>,
    ) -> Introduction {
        let text = |name| ListenerRecord::cut(self.text(name)).to_owned();
        Introduction {
            peer: remote.into().peer,
            request,
            agent: text("user-agent"),
            referer: text("referer"),
            permit,
        }
    }
}

/// Headers in the types of the `http` crate, as far as they are text in UTF-8, not only ASCII.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a HeaderMap);

impl Headers for Fields<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        str::from_utf8(self.0.get(name)?.as_bytes()).ok()
    }
}

/// Returns the HTTP status of a denial. The protocol adds its own challenge to a 401.
pub const fn status_of(denied: Denied) -> StatusCode {
    match denied {
        Denied::Missing | Denied::Wrong => StatusCode::UNAUTHORIZED,
        // No challenge: the same program would present the same link again.
        Denied::Unfit | Denied::InUse | Denied::Excluded(_) => StatusCode::FORBIDDEN,
        Denied::TooManyAttempts => StatusCode::TOO_MANY_REQUESTS,
        Denied::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    #[test]
    fn keys_come_in_the_header_or_in_the_query() {
        for (authorization, query, expected, in_address) in [
            ("Bearer K", "key=Q", Some("K"), false),
            ("bearer  K ", "", Some("K"), false),
            ("", "key=Q", Some("Q"), true),
            ("", "x=1&token=a%2Bb", Some("a+b"), true),
            ("", "token=T&key=K", Some("K"), true),
            ("Basic eDp5", "", None, false),
            ("Basic eDp5", "key=Q", Some("Q"), true),
            ("Bearer", "", None, false),
            ("", "", None, false),
        ] {
            let mut headers = HeaderMap::new();
            if !authorization.is_empty() {
                let value = HeaderValue::from_static(authorization);
                headers.insert(header::AUTHORIZATION, value);
            }
            let shown = Shown::by(Fields(&headers), query);
            let reported = (shown.token(), shown.is_in_address());
            assert_eq!(reported, (expected, in_address), "{authorization} {query}");
        }
    }

    #[test]
    fn what_counts_beside_a_password_is_the_protocols_matter() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (header::AUTHORIZATION, "Basic eDp5"),
            (header::ORIGIN, "https://a.example"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let stream = StreamName::parse("a").expect("a name");
        let peer = std::net::SocketAddr::from(([192, 0, 2, 1], 5));
        let shown = || Shown::by(Fields(&headers), "key=Q");
        for (shown, expected) in [
            (shown(), (Some("x"), Some("y"), Some("Q"))),
            (shown().password_first(), (Some("x"), Some("y"), None)),
            (shown().tokens_alone(), (None, None, Some("Q"))),
        ] {
            let request = shown.request(&stream, "http", peer);
            assert_eq!((request.user, request.password, request.token), expected);
            assert_eq!(request.referer, "https://a.example");
        }
    }
}
