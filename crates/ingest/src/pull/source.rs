//! Sources that streams are pulled from.

use std::fmt;

use ::rtmp::client::Address;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::uri::PathAndQuery;
use net::url::Url;

/// A source: `rtmp[s]://` to play, or `http[s]://` of an FLV stream or a radio. Its `Display` and `Debug`
/// reveal no secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum PullSource {
    /// A stream to play.
    Rtmp(Address),
    /// An FLV stream or a radio to download.
    Http(HttpAddress),
}

/// An HTTP address, checked. Its `Display` and `Debug` show no user, no query, and nothing of the path's last
/// segment.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpAddress {
    /// URL, whose authority is the value of `Host`.
    pub(super) url: Url,
    /// TCP port.
    pub(super) port: u16,
    /// Path and query, without a fragment.
    pub(super) target: String,
    /// Value of `Authorization`.
    pub(super) authorization: Option<HeaderValue>,
}

impl HttpAddress {
    /// Returns the address that a URL names; `None` if it is no HTTP address.
    fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let target: PathAndQuery = url.target().parse().ok()?;
        let authorization = match url.raw_credentials() {
            None => None,
            Some((user, password)) => Some(basic(&user, &password)?),
        };
        Some(Self {
            url: url.clone(),
            port: url.port()?,
            target: target.as_str().to_owned(),
            authorization,
        })
    }

    /// Returns the target of a redirection. The password is sent to the same server only, and encryption is
    /// never given up.
    pub(super) fn redirected(&self, location: &str) -> Option<Self> {
        if location.starts_with("//") {
            return None;
        }
        let there = Self::of(&self.url.join(location).ok()?)?;
        if self.url.is_secure() && !there.url.is_secure() {
            return None;
        }
        let is_same = self.url.is_secure() == there.url.is_secure()
            && self.url.host() == there.url.host()
            && self.port == there.port;
        let authorization = match is_same {
            true => self.authorization.clone(),
            false => there.authorization.clone(),
        };
        Some(Self {
            authorization,
            ..there
        })
    }
}

impl PullSource {
    /// Returns the source that a URL names; `None` if it names none.
    pub fn of(url: &Url) -> Option<Self> {
        match url.scheme() {
            "http" | "https" => HttpAddress::of(url).map(Self::Http),
            _ => net::rtmp::address(url).ok().map(Self::Rtmp),
        }
    }
}

/// Returns the value of `Authorization` for a user and a password (RFC 7617 §2). The colon is present even
/// without a password: nginx and Icecast treat a value without it as no credentials.
fn basic(user: &[u8], password: &[u8]) -> Option<HeaderValue> {
    let value = format!("Basic {}", STANDARD.encode([user, password].join(&b':')));
    let mut value = HeaderValue::try_from(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl fmt::Display for PullSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rtmp(address) => address.fmt(f),
            Self::Http(address) => address.fmt(f),
        }
    }
}

impl fmt::Debug for PullSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PullSource({self})")
    }
}

impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.url, f)
    }
}

impl fmt::Debug for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(text: &str) -> HttpAddress {
        let url: Url = text.parse().unwrap();
        HttpAddress::of(&url).unwrap()
    }

    #[test]
    fn parts_of_an_http_address() {
        for (text, host, port, authority, target) in [
            ("http://h/live.flv", "h", 80, "h", "/live.flv"),
            ("https://h/a/b.flv?k=v", "h", 443, "h", "/a/b.flv?k=v"),
            ("http://u:p@[::1]:81/x.flv", "::1", 81, "[::1]:81", "/x.flv"),
            ("https://h:80/", "h", 80, "h:80", "/"),
            ("http://h?k", "h", 80, "h", "/?k"),
            ("http://h/a#b", "h", 80, "h", "/a"),
        ] {
            let address = http(text);
            assert_eq!((address.url.host(), address.port), (host, port));
            assert_eq!(address.url.authority(), authority, "{text}");
            assert_eq!(address.target, target, "{text}");
        }
    }

    #[test]
    fn the_scheme_decides() {
        let source = |text: &str| PullSource::of(&text.parse().unwrap());
        let is_http = |text| matches!(source(text), Some(PullSource::Http(_)));
        let is_rtmp = |text| matches!(source(text), Some(PullSource::Rtmp(_)));
        assert!(is_http("https://h/x.flv") && is_rtmp("rtmps://h/a/b"));
        for text in ["ftp://h/x", "rtmp://h/x", "http://h/a`b"] {
            assert_eq!(source(text), None, "{text}");
        }
    }

    #[test]
    fn credentials_are_those_of_basic_authentication() {
        for (text, expected) in [
            ("https://u@h/a.flv", Some("Basic dTo=")),
            ("https://u:p%E9@h/a.flv", Some("Basic dTpw6Q==")),
            ("https://@h/a.flv", None),
            ("https://h/a.flv", None),
        ] {
            let value = http(text).authorization;
            let value = value.as_ref().map(HeaderValue::as_bytes);
            assert_eq!(value, expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn redirections_keep_encryption_and_give_no_password_away() {
        let address = http("https://u:p@h/a.flv");
        assert_eq!(address.authorization.as_ref().unwrap(), "Basic dTpw");
        let same = address.redirected("/b.flv?x").unwrap();
        assert_eq!(same.target, "/b.flv?x");
        assert!(same.authorization.is_some());
        let other = address.redirected("https://other/c.flv").unwrap();
        assert_eq!((other.url.host(), other.authorization), ("other", None));
        for nowhere in ["http://h/a.flv", "b.flv", "//other/a", "", "ftp://h/a"] {
            assert_eq!(address.redirected(nowhere), None, "{nowhere}");
        }
    }
}
