//! URLs of other servers and of this one: the only place that parses them.
//!
//! ```text
//!  rtmps://user:password@host:1936/app/name?token
//!  scheme  userinfo      host port path     query
//! ```
//!
//! A [`Url`] is checked when it is parsed. Its parts are kept as written, except that the scheme is in lower
//! case and a missing port is the scheme's. The caller decides which schemes, paths and queries make sense.
//!
//! Most parts of such a URL may be secret: user and password, the query, and the last segment of the path,
//! which services call a stream key. `Display` and `Debug` show none of them.
//!
//! It does not use `http::Uri`, which refuses characters that passwords of RTMP servers have, cuts off
//! everything after a `#`, which stream keys may hold, and knows neither default ports nor IPv6 hosts without
//! brackets.
//!
//! Callers: `config` (pushes, pulls, the base URL), `ingest` (pulls, redirections), `egress-rtmp` (pushes),
//! `load` (targets), `server` (hosts in headers).

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

#[cfg(test)]
mod tests;

/// Longest URL, in bytes. Those of the large platforms have about two hundred; tokens add some hundred.
pub const URL_BYTES_MAX: usize = 2_048;

/// Placeholder for a secret part.
const HIDDEN: &str = "***";

/// Schemes with their TCP ports. rtmps has none registered; the platforms use that of HTTPS.
const PORTS: [(&str, u16); 4] = [("http", 80), ("https", 443), ("rtmp", 1935), ("rtmps", 443)];

/// A URL with a host.
#[derive(Clone, Eq, PartialEq)]
pub struct Url {
    /// Scheme in lower case.
    scheme: String,
    /// User and password as written, without the `@`; not empty.
    userinfo: Option<String>,
    /// Host without brackets.
    host: String,
    /// Port as written, else the scheme's.
    port: Option<u16>,
    /// Path: empty, or with a leading `/`.
    path: String,
    /// Query without the `?`.
    query: Option<String>,
}

/// Defect of a URL. The texts follow a word such as "the address", and repeat nothing of the URL but one
/// character of its host.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UrlError {
    /// More than [`URL_BYTES_MAX`] bytes.
    #[error("is longer than {URL_BYTES_MAX} bytes")]
    TooLong,
    /// The text does not begin with a scheme and `://`.
    #[error("has no scheme, such as rtmp:// or https://")]
    Scheme,
    /// The host is missing.
    #[error("names no host")]
    Host,
    /// The host has a character that no host has, or a bracket without an IPv6 address.
    #[error("has {0:?} in its host, which is no name or IP address; IPv6 is written in [brackets]")]
    HostCharacter(char),
    /// The port is no number from 1 to 65535.
    #[error("has a port that is no number from 1 to 65535")]
    Port,
    /// The named part holds something other than printable ASCII.
    #[error("has a blank, control or non-ASCII character in its {0}; write %20 and so on")]
    Character(&'static str),
}

impl Url {
    /// Returns the scheme, in lower case.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Whether the scheme is one of an encrypted connection.
    pub fn is_secure(&self) -> bool {
        matches!(&*self.scheme, "https" | "rtmps")
    }

    /// Returns user and password as written, without the `@`. Secret.
    pub fn userinfo(&self) -> Option<&str> {
        self.userinfo.as_deref()
    }

    /// Returns user and password, percent-decoded; without a colon the password is empty. Bytes that are not
    /// UTF-8 become U+FFFD. Secret.
    pub fn credentials(&self) -> Option<(String, String)> {
        let (user, password) = self.raw_credentials()?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some((text(user), text(password)))
    }

    /// Returns user and password as bytes: a percent-encoded password may be in an encoding other than UTF-8.
    /// Secret.
    pub fn raw_credentials(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let userinfo = self.userinfo.as_deref()?;
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        let decode = |text| percent_decode_str(text).collect();
        Some((decode(user), decode(password)))
    }

    /// Returns the host: a name or an IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port as written, else the scheme's; `None` for a scheme that has none here.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns host and port in the form of the `Host` header: IPv6 in brackets, and no port if it is the
    /// scheme's.
    pub fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.port {
            Some(port) if default_port(&self.scheme) != Some(port) => format!("{host}:{port}"),
            _ => host,
        }
    }

    /// Returns the path: empty, or with a leading `/`. Its last segment may be secret.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the part after the `?`. Secret.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// Returns path and query as in the request line of HTTP; an empty path is `/`. Secret.
    pub fn target(&self) -> String {
        let path = match &*self.path {
            "" => "/",
            path => path,
        };
        match &self.query {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        }
    }

    /// Returns a URL on the same server with another path, which is empty or begins with `/`, and another
    /// query.
    ///
    /// # Errors
    /// [`UrlError::TooLong`], [`UrlError::Character`].
    pub fn with_path(&self, path: String, query: Option<String>) -> Result<Self, UrlError> {
        let url = Self {
            path,
            query,
            ..self.clone()
        };
        url.check_characters()?;
        if url.bytes() > URL_BYTES_MAX {
            return Err(UrlError::TooLong);
        }
        Ok(url)
    }

    /// Resolves a reference against this URL (RFC 3986 §4.2): a whole URL, `//host/path` with this scheme, or
    /// `/path` on this server. Other relative paths are refused.
    ///
    /// # Errors
    /// The defect of the result.
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        if reference.starts_with("//") {
            return format!("{}:{reference}", self.scheme).parse();
        }
        if !reference.starts_with('/') {
            return reference.parse();
        }
        let (path, query) = cut(reference, '?');
        self.with_path(path.to_owned(), query.map(str::to_owned))
    }

    /// Writes the URL without its secrets: `path` replaces the path, and `***` replaces userinfo and query.
    ///
    /// # Errors
    /// Those of the formatter.
    pub fn fmt_with_path(&self, path: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if self.userinfo.is_some() {
            write!(f, "{HIDDEN}@")?;
        }
        write!(f, "{}{path}", self.authority())?;
        match self.query {
            Some(_) => write!(f, "?{HIDDEN}"),
            None => Ok(()),
        }
    }

    fn check_characters(&self) -> Result<(), UrlError> {
        let parts = [
            ("user name or password", self.userinfo.as_deref()),
            ("path", Some(&*self.path)),
            ("query", self.query.as_deref()),
        ];
        let is_fit = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let wrong = parts.into_iter().find(|(_, text)| !text.is_none_or(is_fit));
        match wrong {
            Some((part, _)) => Err(UrlError::Character(part)),
            None => Ok(()),
        }
    }

    /// Returns the length of the whole URL, give or take the separators.
    fn bytes(&self) -> usize {
        let userinfo = self.userinfo.as_ref().map_or(0, String::len);
        let query = self.query.as_ref().map_or(0, String::len);
        self.scheme.len() + userinfo + self.host.len() + self.path.len() + query
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text.len() > URL_BYTES_MAX {
            return Err(UrlError::TooLong);
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if scheme.is_empty() || !scheme.bytes().all(is_fit) {
            return Err(UrlError::Scheme);
        }
        let scheme = scheme.to_ascii_lowercase();
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        // Passwords may hold an at-sign; hosts hold none.
        let (userinfo, host_port) = match authority.rsplit_once('@') {
            Some((userinfo, host_port)) => (Some(userinfo), host_port),
            None => (None, authority),
        };
        let (host, port) = host_and_port(host_port)?;
        let (path, query) = cut(rest, '?');
        let url = Self {
            port: port.or_else(|| default_port(&scheme)),
            scheme,
            userinfo: userinfo.filter(|text| !text.is_empty()).map(str::to_owned),
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.map(str::to_owned),
        };
        url.check_characters()?;
        Ok(url)
    }
}

/// Splits `host`, `host:port`, `[IPv6]` or `[IPv6]:port`. The host is returned without brackets.
///
/// # Errors
/// [`UrlError::Host`], [`UrlError::HostCharacter`], [`UrlError::Port`].
pub fn host_and_port(text: &str) -> Result<(&str, Option<u16>), UrlError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => bracketed(rest)?,
        None => named(text)?,
    };
    match port {
        None => Ok((host, None)),
        Some(port) => Ok((host, Some(parse_port(port).ok_or(UrlError::Port)?))),
    }
}

/// Returns an IPv6 address and the text of a port, from the text after the opening bracket.
fn bracketed(text: &str) -> Result<(&str, Option<&str>), UrlError> {
    let (host, rest) = text.split_once(']').ok_or(UrlError::HostCharacter('['))?;
    if host.parse::<Ipv6Addr>().is_err() {
        return Err(UrlError::HostCharacter('['));
    }
    match rest.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err(UrlError::HostCharacter(']')),
    }
}

/// Returns a name or IPv4 address, and the text of a port.
fn named(text: &str) -> Result<(&str, Option<&str>), UrlError> {
    let (host, port) = cut(text, ':');
    if port.is_some_and(|port| port.contains(':')) {
        return Err(UrlError::HostCharacter(':'));
    }
    if host.is_empty() {
        return Err(UrlError::Host);
    }
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match host.chars().find(|c| !is_fit(*c)) {
        Some(wrong) => Err(UrlError::HostCharacter(wrong)),
        None => Ok((host, port)),
    }
}

/// Parses digits alone: Rust's number parser accepts a plus sign.
fn parse_port(text: &str) -> Option<u16> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<u16>()
        .ok()
        .filter(|port| is_digits && *port != 0)
}

/// Cuts a text at the first of a character, which belongs to neither part; `None` if there is none.
fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    let known = PORTS.iter().find(|(known, _)| *known == scheme);
    known.map(|(_, port)| *port)
}

/// Returns a path without its last segment, which services call a stream key; an ending `.flv` is kept.
/// Slashes at the end of a path hide no key: it is the segment before them.
pub fn shown_path(path: &str) -> String {
    let (front, last, slashes) = last_segment(path);
    let extension = if last.ends_with(".flv") { ".flv" } else { "" };
    let hidden = if last.is_empty() { "" } else { HIDDEN };
    format!("{front}{hidden}{extension}{slashes}")
}

/// Splits a path into three parts: up to and with the slash before the last segment that is not empty, that
/// segment, and the slashes after it.
pub fn last_segment(path: &str) -> (&str, &str, &str) {
    let end = path.trim_end_matches('/').len();
    let (whole, slashes) = path.split_at(end);
    let (front, last) = whole.split_at(whole.rfind('/').map_or(0, |slash| slash + 1));
    (front, last, slashes)
}

/// Shows scheme, host, port, and the path without its last segment.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown_path(&self.path);
        write!(f, "{}://{}{path}", self.scheme, self.authority())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}
