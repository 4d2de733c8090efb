//! Where a stream is pulled from.

use std::fmt;
use std::str::FromStr;

use ::rtmp::client::{Address, AddressError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};

/// The longest address: as long as one of RTMP.
const ADDRESS_BYTES_MAX: usize = ::rtmp::client::ADDRESS_BYTES_MAX;

const PORT: u16 = 80;
const PORT_TLS: u16 = 443;

/// A source: `rtmp[s]://` to play, or `http[s]://` of an FLV stream. Shows no secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A stream to play.
    Rtmp(Address),
    /// An FLV stream to download.
    Http(HttpAddress),
}

/// Why a text names no source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It is no RTMP address.
    #[error("{0}")]
    Rtmp(#[from] AddressError),
    /// It is no HTTP address.
    #[error("the address is no http:// or https:// address with a host")]
    Http,
}

/// An HTTP address, checked. Shows no user, no query, and nothing of the path's last segment.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpAddress {
    pub(super) is_secure: bool,
    /// Without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Path and query.
    pub(super) target: String,
    /// The value of `Authorization`.
    authorization: Option<HeaderValue>,
}

impl HttpAddress {
    /// The value of `Host`.
    pub(super) fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match (self.is_secure, self.port) {
            (false, PORT) | (true, PORT_TLS) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// Where a redirection leads. The password goes along on the same server only, and encryption
    /// is not given up.
    pub(super) fn redirected(&self, location: &str) -> Option<Self> {
        let there: Self = match location.starts_with('/') && !location.starts_with("//") {
            true => {
                let scheme = if self.is_secure { "https" } else { "http" };
                format!("{scheme}://{}{location}", self.authority())
            }
            false => location.to_owned(),
        }
        .parse()
        .ok()?;
        if self.is_secure && !there.is_secure {
            return None;
        }
        let is_same =
            (self.is_secure, &self.host, self.port) == (there.is_secure, &there.host, there.port);
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

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        match text.split_once("://") {
            Some((scheme, _)) if scheme.to_ascii_lowercase().starts_with("http") => {
                Ok(Self::Http(text.parse()?))
            }
            _ => Ok(Self::Rtmp(text.parse()?)),
        }
    }
}

impl FromStr for HttpAddress {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(SourceError::Http);
        }
        let uri: Uri = text.parse().map_err(|_| SourceError::Http)?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(SourceError::Http),
        };
        let authority = uri.authority().ok_or(SourceError::Http)?;
        let host = authority.host().trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(SourceError::Http);
        }
        let default = if is_secure { PORT_TLS } else { PORT };
        let port = match authority.port_u16() {
            Some(0) => return Err(SourceError::Http),
            Some(port) => port,
            None => default,
        };
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
        let authorization = match user {
            None => None,
            Some(user) => {
                let user = percent_decode(user);
                let value = format!("Basic {}", STANDARD.encode(user));
                let mut value = HeaderValue::try_from(value).map_err(|_| SourceError::Http)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Self {
            is_secure,
            host: host.to_owned(),
            port,
            target: uri
                .path_and_query()
                .map_or("/", |target| target.as_str())
                .to_owned(),
            authorization,
        })
    }
}

/// A path as it may be shown: its last segment is what services call a key.
pub fn shown_path(path: &str) -> String {
    let Some((front, last)) = path.rsplit_once('/') else {
        return path.to_owned();
    };
    let extension = if last.ends_with(".flv") { ".flv" } else { "" };
    let hidden = if last.is_empty() { "" } else { "***" };
    format!("{front}/{hidden}{extension}")
}

fn percent_decode(text: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(text).collect()
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rtmp(address) => address.fmt(f),
            Self::Http(address) => address.fmt(f),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({self})")
    }
}

impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        let path = self.target.split('?').next().unwrap_or_default();
        let path = shown_path(path);
        write!(f, "{scheme}://{}{path}", self.authority())
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

    #[test]
    fn parts_of_an_http_address() {
        for (text, host, port, authority, target) in [
            ("http://h/live.flv", "h", 80, "h", "/live.flv"),
            ("https://h/a/b.flv?k=v", "h", 443, "h", "/a/b.flv?k=v"),
            ("http://u:p@[::1]:81/x.flv", "::1", 81, "[::1]:81", "/x.flv"),
            ("https://h:80/", "h", 80, "h:80", "/"),
        ] {
            let address: HttpAddress = text.parse().unwrap();
            assert_eq!((&*address.host, address.port), (host, port));
            assert_eq!(
                (&*address.authority(), &*address.target),
                (authority, target)
            );
        }
        for text in [
            "",
            "http://",
            "http:///x",
            "ftp://h/x",
            "http://h:0/x",
            "http://h/a b",
        ] {
            assert_eq!(
                text.parse::<HttpAddress>(),
                Err(SourceError::Http),
                "{text}"
            );
        }
    }

    #[test]
    fn the_scheme_decides() {
        assert!(matches!("https://h/x.flv".parse(), Ok(Source::Http(_))));
        assert!(matches!("rtmps://h/a/b".parse(), Ok(Source::Rtmp(_))));
        let error = "ftp://h/x".parse::<Source>().unwrap_err();
        assert_eq!(error, SourceError::Rtmp(AddressError::Scheme));
    }

    #[test]
    fn nothing_secret_is_shown() {
        for text in [
            "http://qwerty:hunter2@h/live/sesame.flv?key=sesame",
            "http://h/live/sesame",
            "rtmp://qwerty:hunter2@h/live/show?key=sesame",
        ] {
            let source: Source = text.parse().unwrap();
            let shown = format!("{source} {source:?}");
            for secret in ["qwerty", "hunter2", "sesame"] {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
    }

    #[test]
    fn redirections_keep_encryption_and_give_no_password_away() {
        let address: HttpAddress = "https://u:p@h/a.flv".parse().unwrap();
        assert_eq!(address.authorization().unwrap(), "Basic dTpw");
        let same = address.redirected("/b.flv?x").unwrap();
        assert_eq!(
            (&*same.target, same.authorization().is_some()),
            ("/b.flv?x", true)
        );
        let other = address.redirected("https://other/c.flv").unwrap();
        assert_eq!((&*other.host, other.authorization()), ("other", None));
        for nowhere in ["http://h/a.flv", "b.flv", "//other/a", "", "ftp://h/a"] {
            assert_eq!(address.redirected(nowhere), None, "{nowhere}");
        }
    }
}
