//! Address at which the outside world reaches the pages: configured, or derived from the headers of a request.

use std::fmt;
use std::str::FromStr;

use net::url::{Url, UrlError, host_and_port};

/// Length of the longest host and of the longest prefix, in bytes. DNS names have 253 characters.
const PART_BYTES_MAX: usize = 256;

/// Scheme, host and, behind a proxy that puts everything below one, a path prefix: `https://radio.example.com/tv`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct BaseUrl {
    scheme: &'static str,
    host: String,
    prefix: String,
}

/// Reason why a text is not a base URL.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotABaseUrl {
    /// The text does not begin with `https://` or `http://`.
    #[error("begins with neither https:// nor http://")]
    Scheme,
    /// The text has no host, has a user name, or has an impossible port.
    #[error("has no host that could be reached; user names do not belong there")]
    Host,
    /// The part after the host is not a path of plain segments.
    #[error("has a path that is none of plain segments, without query and fragment")]
    Path,
}

impl BaseUrl {
    /// Creates a base URL; `None` if [`is_host`] refuses the host, or [`parse_prefix`] the prefix.
    pub fn new(scheme: &'static str, host: &str, prefix: &str) -> Option<Self> {
        Some(Self {
            scheme,
            host: is_host(host).then(|| host.to_owned())?,
            prefix: parse_prefix(prefix)?,
        })
    }

    /// Returns scheme and host, without a trailing slash.
    fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.host)
    }

    /// Returns the host, with its port if it has one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the path prefix: empty, or with a leading slash and no trailing one.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl FromStr for BaseUrl {
    type Err = NotABaseUrl;

    fn from_str(text: &str) -> Result<Self, NotABaseUrl> {
        let url: Url = text.parse()?;
        let scheme = parse_scheme(url.scheme()).ok_or(NotABaseUrl::Scheme)?;
        let host = url.authority();
        if url.userinfo().is_some() || !is_host(&host) {
            return Err(NotABaseUrl::Host);
        }
        if url.query().is_some() {
            return Err(NotABaseUrl::Path);
        }
        Self::new(scheme, &host, url.path()).ok_or(NotABaseUrl::Path)
    }
}

impl From<UrlError> for NotABaseUrl {
    fn from(error: UrlError) -> Self {
        match error {
            UrlError::Scheme => Self::Scheme,
            UrlError::Host | UrlError::HostCharacter(_) | UrlError::Port => Self::Host,
            UrlError::Character(_) | UrlError::TooLong => Self::Path,
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.prefix)
    }
}

/// Parses `http` or `https`, in upper or lower case.
pub fn parse_scheme(text: &str) -> Option<&'static str> {
    let schemes = ["https", "http"];
    schemes
        .into_iter()
        .find(|scheme| scheme.eq_ignore_ascii_case(text))
}

/// Whether the text is a host's name or address, with or without a port.
pub fn is_host(text: &str) -> bool {
    text.len() <= PART_BYTES_MAX && host_and_port(text).is_ok()
}

/// Parses a path of plain segments, with or without a slash at its end, into the form of [`BaseUrl::prefix`].
pub fn parse_prefix(text: &str) -> Option<String> {
    let path = text.strip_suffix('/').unwrap_or(text);
    let is_plain = |segment: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        !matches!(segment, "" | "." | "..") && segment.bytes().all(fits)
    };
    let fits = match path.strip_prefix('/') {
        Some(segments) => segments.split('/').all(is_plain),
        None => path.is_empty(),
    };
    (fits && path.len() <= PART_BYTES_MAX).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_perhaps_a_prefix() {
        for (text, origin, prefix) in [
            ("https://radio.example", "https://radio.example", ""),
            ("https://radio.example/", "https://radio.example", ""),
            ("HTTP://radio:8000/tv/", "http://radio:8000", "/tv"),
            ("https://[::1]:8443/a/b", "https://[::1]:8443", "/a/b"),
            ("http://[::1]", "http://[::1]", ""),
        ] {
            let url: BaseUrl = text.parse().expect(text);
            assert_eq!((url.origin().as_str(), url.prefix()), (origin, prefix));
            assert_eq!(url.to_string(), format!("{origin}{prefix}"));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for (text, expected) in [
            ("radio.example.com", NotABaseUrl::Scheme),
            ("/tv", NotABaseUrl::Scheme),
            ("rtmp://radio.example.com", NotABaseUrl::Scheme),
            ("https://", NotABaseUrl::Host),
            ("https:///tv", NotABaseUrl::Host),
            ("https://me:secret@radio.example.com", NotABaseUrl::Host),
            ("https://radio.example.com:port", NotABaseUrl::Host),
            ("https://radio.example.com:99999", NotABaseUrl::Host),
            ("https://[::1", NotABaseUrl::Host),
            ("https://a b", NotABaseUrl::Host),
            ("https://radio.example.com?x=1", NotABaseUrl::Path),
            ("https://radio.example.com/tv#live", NotABaseUrl::Path),
            ("https://radio.example.com/a//b", NotABaseUrl::Path),
            ("https://radio.example.com/a/../b", NotABaseUrl::Path),
            ("https://radio.example.com/a b", NotABaseUrl::Path),
            ("https://radio.example.com/\"><script>", NotABaseUrl::Path),
            ("https://radio.example.com//evil.example", NotABaseUrl::Path),
        ] {
            assert_eq!(text.parse::<BaseUrl>(), Err(expected), "{text}");
        }
    }
}
