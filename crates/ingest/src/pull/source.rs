//! Sources that streams are pulled from.

use std::fmt;
use std::str::FromStr;

use ::rtmp::client::{Address, AddressError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::uri::PathAndQuery;
use net::url::{Url, UrlError};

/// A source: `rtmp[s]://` to play, or `http[s]://` of an FLV stream or a radio. Its `Display` and `Debug`
/// reveal no secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum PullSource {
    /// A stream to play.
    Rtmp(Address),
    /// An FLV stream or a radio to download.
    Http(HttpAddress),
}

/// Reason why a URL names no source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The text is no URL.
    #[error("the address {0}")]
    Url(#[from] UrlError),
    /// The URL is no RTMP address.
    #[error("{0}")]
    Rtmp(#[from] AddressError),
    /// The URL is no HTTP address.
    #[error("the address is none that can be asked for over HTTP")]
    Http,
}

/// An HTTP address, checked. Its `Display` and `Debug` show no user, no query, and nothing of the path's last
/// segment.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpAddress {
    url: Url,
    port: u16,
    /// Path and query, without a fragment.
    target: String,
    /// Value of `Authorization`.
    authorization: Option<HeaderValue>,
}

impl HttpAddress {
    /// Whether the connection must be encrypted.
    pub(super) fn is_secure(&self) -> bool {
        self.url.is_secure()
    }

    /// Returns the host: a name or an IP address, without brackets.
    pub(super) fn host(&self) -> &str {
        self.url.host()
    }

    /// Returns the TCP port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the value of `Host`.
    pub(super) fn authority(&self) -> String {
        self.url.authority()
    }

    /// Returns path and query.
    pub(super) fn target(&self) -> &str {
        &self.target
    }

    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// Returns the target of a redirection. The password is sent to the same server only, and encryption is
    /// never given up.
    pub(super) fn redirected(&self, location: &str) -> Option<Self> {
        if location.starts_with("//") {
            return None;
        }
        let there = Self::try_from(&self.url.join(location).ok()?).ok()?;
        if self.is_secure() && !there.is_secure() {
            return None;
        }
        let server =
            |address: &Self| (address.is_secure(), address.host().to_owned(), address.port);
        let authorization = match server(self) == server(&there) {
            true => self.authorization.clone(),
            false => there.authorization.clone(),
        };
        Some(Self {
            authorization,
            ..there
        })
    }
}

impl FromStr for PullSource {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        Self::try_from(&text.parse::<Url>()?)
    }
}

impl TryFrom<&Url> for PullSource {
    type Error = SourceError;

    fn try_from(url: &Url) -> Result<Self, SourceError> {
        match url.scheme() {
            "http" | "https" => Ok(Self::Http(url.try_into()?)),
            _ => Ok(Self::Rtmp(net::rtmp::address(url)?)),
        }
    }
}

impl TryFrom<&Url> for HttpAddress {
    type Error = SourceError;

    fn try_from(url: &Url) -> Result<Self, SourceError> {
        let port = match url.scheme() {
            "http" | "https" => url.port().ok_or(SourceError::Http)?,
            _ => return Err(SourceError::Http),
        };
        let target: PathAndQuery = url.target().parse().map_err(|_| SourceError::Http)?;
        let authorization = match url.raw_credentials() {
            None => None,
            Some((user, password)) => Some(basic(&user, &password)?),
        };
        Ok(Self {
            url: url.clone(),
            port,
            target: target.as_str().to_owned(),
            authorization,
        })
    }
}

/// Returns the value of `Authorization` for a user and a password (RFC 7617 §2). The colon is present even
/// without a password: nginx and Icecast treat a value without it as no credentials.
fn basic(user: &[u8], password: &[u8]) -> Result<HeaderValue, SourceError> {
    let value = format!("Basic {}", STANDARD.encode([user, password].join(&b':')));
    let mut value = HeaderValue::try_from(value).map_err(|_| SourceError::Http)?;
    value.set_sensitive(true);
    Ok(value)
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
        HttpAddress::try_from(&url).unwrap()
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
            assert_eq!((address.host(), address.port()), (host, port));
            assert_eq!(&*address.authority(), authority, "{text}");
            assert_eq!(address.target(), target, "{text}");
        }
        for text in ["ftp://h/x", "rtmp://h/a/b", "http://h/a`b"] {
            let url: Url = text.parse().unwrap();
            let address = HttpAddress::try_from(&url);
            assert_eq!(address, Err(SourceError::Http), "{text}");
        }
    }

    #[test]
    fn the_scheme_decides() {
        assert!(matches!("https://h/x.flv".parse(), Ok(PullSource::Http(_))));
        assert!(matches!("rtmps://h/a/b".parse(), Ok(PullSource::Rtmp(_))));
        for (text, expected) in [
            ("ftp://h/x", SourceError::Rtmp(AddressError::Scheme)),
            ("rtmp://h/x", SourceError::Rtmp(AddressError::Path)),
            ("http://", SourceError::Url(UrlError::Host)),
            ("http://h:0/x", SourceError::Url(UrlError::Port)),
            ("", SourceError::Url(UrlError::Scheme)),
        ] {
            assert_eq!(text.parse::<PullSource>(), Err(expected), "{text}");
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
            let address = http(text);
            let value = address.authorization().map(HeaderValue::as_bytes);
            assert_eq!(value, expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn redirections_keep_encryption_and_give_no_password_away() {
        let address = http("https://u:p@h/a.flv");
        assert_eq!(address.authorization().unwrap(), "Basic dTpw");
        let same = address.redirected("/b.flv?x").unwrap();
        assert_eq!(same.target(), "/b.flv?x");
        assert!(same.authorization().is_some());
        let other = address.redirected("https://other/c.flv").unwrap();
        assert_eq!((other.host(), other.authorization()), ("other", None));
        for nowhere in ["http://h/a.flv", "b.flv", "//other/a", "", "ftp://h/a"] {
            assert_eq!(address.redirected(nowhere), None, "{nowhere}");
        }
    }
}
