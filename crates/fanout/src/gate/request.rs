//! What a client asks a gate for, and what it presents.

use std::fmt;
use std::net::SocketAddr;

use media::StreamName;

/// Where a client connects from, as the port that it has reached knows it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Remote {
    /// Its address.
    pub peer: SocketAddr,
    /// Its country, by the word of a proxy that may say so.
    pub country: Option<Country>,
}

/// A client of which only the address is known.
impl From<SocketAddr> for Remote {
    fn from(peer: SocketAddr) -> Self {
        Self {
            peer,
            country: None,
        }
    }
}

/// A country by its code of two letters (ISO 3166-1), or one of those that geolocation adds to them, such as `T1`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Country([u8; 2]);

impl Country {
    /// `None` if the text is no code. Case does not matter.
    pub fn new(text: &str) -> Option<Self> {
        let code: [u8; 2] = text.as_bytes().try_into().ok()?;
        let is_code = code[0].is_ascii_alphabetic() && code[1].is_ascii_alphanumeric();
        is_code.then(|| Self(code.map(|byte| byte.to_ascii_uppercase())))
    }
}

/// What a client wants of a stream, and what it presents. All texts are untrusted.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Which stream.
    pub stream: &'a StreamName,
    /// Its protocol: `rtmp`, `icecast`, `whip`, `http`, `webrtc`; the label in the metrics.
    pub protocol: &'static str,
    /// Where it connects from.
    pub peer: SocketAddr,
    /// The country that it connects from, by the word of a proxy that may say so.
    pub country: Option<Country>,
    /// The name of its program; empty if it does not say.
    pub agent: &'a str,
    /// The address of the page that sent it here; empty if it does not say.
    pub referer: &'a str,
    /// The user name, where the protocol has one.
    pub user: Option<&'a str>,
    /// The password that belongs to it.
    pub password: Option<&'a str>,
    /// A bearer token, or the key in the address.
    pub token: Option<&'a str>,
    /// The query of the address as it was sent, without the question mark. It may hold a key.
    pub query: &'a str,
    /// Proof that it knows a password, without the password.
    pub proof: Option<&'a dyn Proof>,
    /// The headers of its request, where its protocol has some.
    pub headers: Option<&'a dyn Headers>,
}

impl<'a> Request<'a> {
    /// A request that presents nothing.
    pub fn new(stream: &'a StreamName, protocol: &'static str, remote: impl Into<Remote>) -> Self {
        let Remote { peer, country } = remote.into();
        Self {
            stream,
            protocol,
            peer,
            country,
            agent: "",
            referer: "",
            user: None,
            password: None,
            token: None,
            query: "",
            proof: None,
            headers: None,
        }
    }

    /// The secret that it presents: its token, else its password. An empty one is none.
    pub fn secret(&self) -> Option<&'a str> {
        let mut secrets = [self.token, self.password].into_iter().flatten();
        secrets.find(|secret| !secret.is_empty())
    }
}

/// Shows the client and its request, and nothing that may be secret.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("stream", self.stream)
            .field("protocol", &self.protocol)
            .field("peer", &self.peer)
            .field("country", &self.country)
            .field("agent", &self.agent)
            .field("referer", &self.referer)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// The answer to a challenge.
pub trait Proof: Send + Sync {
    /// Whether the answer was made with `secret`. Takes the same time whatever the secret is.
    fn verifies(&self, secret: &str) -> bool;
}

/// The headers of a request. Untrusted texts.
pub trait Headers: Sync {
    /// The value of the first one of that name, whatever its case.
    fn header(&self, name: &str) -> Option<&str>;
}

impl fmt::Debug for dyn Proof + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof")
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_request_shows_no_secret_and_takes_its_token_first() {
        let stream = StreamName::parse("live/show").expect("a name");
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let request = Request {
            user: Some("source"),
            password: Some("open-sesame"),
            token: Some("bearer-42"),
            query: "key=query-43",
            ..Request::new(&stream, "rtmp", peer)
        };
        let shown = format!("{request:?}");
        for secret in ["sesame", "bearer", "query-43"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(
            shown.contains("live/show") && shown.contains("source"),
            "{shown}"
        );
        assert_eq!(request.secret(), Some("bearer-42"));
        let token = |token| Request { token, ..request };
        assert_eq!(token(None).secret(), Some("open-sesame"));
        assert_eq!(token(Some("")).secret(), Some("open-sesame"));
        assert_eq!(Request::new(&stream, "http", peer).secret(), None);
    }

    #[test]
    fn countries_are_codes() {
        assert_eq!(Country::new("de"), Country::new("DE"));
        assert_ne!(Country::new("DE"), Country::new("AT"));
        for (text, is_one) in [
            ("T1", true),
            ("xx", true),
            ("", false),
            ("D", false),
            ("DEU", false),
            ("1A", false),
            ("Ä", false),
            ("d e", false),
        ] {
            assert_eq!(Country::new(text).is_some(), is_one, "{text}");
        }
    }
}
