//! Request head, with accessors for everything the server needs from it.

use std::borrow::Cow;
use std::ops::Range;

use crate::auth::{self, Credentials, Password};
use crate::body::{Body, Framing};
use crate::query::Query;
use crate::text::{is_token, percent_decode, trim_ows, utf8_or_latin1};
use crate::{Error, source};

/// Protocol version of a peer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1, or a later minor version, which means the same (RFC 9112 §2.3).
    Http11,
    /// `ICE/1.0`: HTTP/1.0 under the name that source clients of 2001 gave it.
    Ice10,
    /// x-audiocast, the login before Icecast 2: `SOURCE password /mount`, and headers that begin with `x-audiocast-`. Such a
    /// client waits for a bare `OK`.
    XAudiocast,
    /// SHOUTcast v1: a password on a line, and headers once it is answered. No head parsed from a request has this version: see
    /// [`ShoutcastLogin`](crate::ShoutcastLogin).
    Shoutcast,
    /// HTTP/2 (RFC 9113). No parsed head has this version: see [`Head::over_http2`].
    Http2,
}

/// Complete request head.
#[derive(Clone, Debug)]
pub struct Head {
    version: Version,
    body: Body,
    target: Vec<u8>,
    /// Password of an x-audiocast request line.
    login: Option<Credentials>,
    /// The method, then each header's name in lower case and its value, without separators.
    text: String,
    method_end: usize,
    fields: Vec<Field>,
    /// Values that are not UTF-8, as received, with the index of their header.
    foreign: Vec<(usize, Vec<u8>)>,
    /// First element that only a source client may use.
    quirk: Option<Error>,
}

/// Position of a header in [`Head::text`]. A head is far shorter than 4 GiB.
#[derive(Clone, Debug)]
struct Field {
    start: u32,
    colon: u32,
    end: u32,
}

/// Range of bytes that a player requests (RFC 9110 §14.1.2).
///
/// Live streams have no ranges, but the requested one distinguishes players: `0-` is a browser, `0-1` is AVFoundation probing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte, if the range has an end.
    pub last: Option<u64>,
}

impl Head {
    /// Returns the method, its case kept: `GET`, `PUT`, `SOURCE`, …
    pub fn method(&self) -> &str {
        &self.text[..self.method_end]
    }

    /// Returns the approximate number of bytes of memory that the head takes.
    pub fn footprint(&self) -> usize {
        self.text.capacity() + self.target.capacity() + size_of_val(&self.fields[..])
    }

    /// Returns the version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Marks the request as received over HTTP/2 and written as a head of HTTP/1.1. It is answered like an HTTP/1.1 request,
    /// but reports its version.
    #[must_use]
    pub fn over_http2(mut self) -> Self {
        self.version = Version::Http2;
        self
    }

    /// Returns the framing of the body.
    pub fn body(&self) -> Body {
        self.body
    }

    /// Checks that the head conforms to RFC 9112. A source client's head is accepted even if it does not; any other request's
    /// is not, because a proxy in front may have understood it differently.
    ///
    /// # Errors
    /// The violation.
    pub fn conforms(&self) -> Result<(), Error> {
        self.quirk.map_or(Ok(()), Err)
    }

    /// Returns the target as received. butt sends raw spaces and UTF-8 in it. Untrusted bytes.
    pub fn target(&self) -> &[u8] {
        &self.target
    }

    /// Returns the path, percent-decoded once, with a leading `/` even if the client omitted it, and without scheme and host if
    /// the client named them. `*` stands for itself. Untrusted text: only `media::StreamName` decides whether it is a stream's
    /// name.
    pub fn path(&self) -> Cow<'_, str> {
        let (path, _) = self.split_target();
        if path == b"*" {
            return Cow::Borrowed("*");
        }
        let text = match percent_decode(path) {
            Cow::Borrowed(bytes) => utf8_or_latin1(bytes),
            Cow::Owned(bytes) => Cow::Owned(utf8_or_latin1(&bytes).into_owned()),
        };
        if text.starts_with('/') {
            text
        } else {
            Cow::Owned(format!("/{text}"))
        }
    }

    /// Returns the query; empty if there is none.
    pub fn query(&self) -> Query<'_> {
        Query::new(self.split_target().1)
    }

    /// Splits the target into path and query; the absolute form (RFC 9112 §3.2.2) merely ends with them.
    fn split_target(&self) -> (&[u8], &[u8]) {
        let (_, origin) = split_authority(&self.target);
        match origin.iter().position(|byte| *byte == b'?') {
            Some(at) => (&origin[..at], &origin[at + 1..]),
            None => (origin, &[]),
        }
    }

    /// Returns the target in origin form (RFC 9112 §3.2.1): without scheme and host if the client named them. Untrusted bytes.
    pub fn origin_form(&self) -> &[u8] {
        split_authority(&self.target).1
    }

    /// Returns the error for a Host header that makes the request ambiguous.
    fn host_quirk(&self) -> Option<Error> {
        let mut hosts = self.header_values("host");
        let (host, again) = (hosts.next(), hosts.next());
        let (authority, _) = split_authority(&self.target);
        match (host, authority) {
            _ if again.is_some() => Some(Error::HostConflict),
            (None, _) if self.version == Version::Http11 => Some(Error::HostMissing),
            (Some(host), Some(authority)) if !host.as_bytes().eq_ignore_ascii_case(authority) => {
                Some(Error::HostConflict)
            }
            _ => None,
        }
    }

    /// Returns all headers in order: names in lower case, values as UTF-8 if they are valid, else as Latin-1. Untrusted text.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|field| {
            let (name, value) = (field.name(), field.value());
            (&self.text[name], &self.text[value])
        })
    }

    /// Returns all headers as [`headers`](Self::headers) does, except that `decode` reads the values that are not UTF-8, for
    /// sources in another character set.
    pub fn headers_by(
        &self,
        decode: impl Fn(&[u8]) -> String,
    ) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.headers()
            .enumerate()
            .map(move |(index, (name, value))| {
                let foreign = self.foreign.iter().find(|(at, _)| *at == index);
                let value = foreign.map_or(Cow::Borrowed(value), |(_, bytes)| decode(bytes).into());
                (name, value)
            })
    }

    /// Returns the first header of a name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.header_values(name).next()
    }

    /// Returns all headers of a name, in any case.
    pub fn header_values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers()
            .filter(move |(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Returns the page that sent the client here: `Referer`, or the `Origin` that some browsers send alone. Empty without
    /// either.
    pub fn referer(&self) -> &str {
        let mut reported = ["referer", "origin"]
            .into_iter()
            .filter_map(|name| self.header(name));
        reported.find(|page| !page.is_empty()).unwrap_or_default()
    }

    /// Returns Basic credentials, from the Authorization header or an x-audiocast request line. The user is `source` if the
    /// client gave none.
    pub fn basic_auth(&self) -> Option<Credentials> {
        self.login
            .clone()
            .or_else(|| auth::basic(self.header("authorization")?))
    }

    /// Returns the Bearer token.
    pub fn bearer_token(&self) -> Option<Password> {
        auth::bearer(self.header("authorization")?)
    }

    /// Whether the connection may carry another request after this one, if its body ends.
    pub fn keeps_alive(&self) -> bool {
        self.body != Body::UntilClose
            && match self.version {
                Version::Http11 | Version::Http2 => !self.connection_has("close"),
                Version::Http10 => {
                    self.connection_has("keep-alive") && !self.connection_has("close")
                }
                Version::Ice10 | Version::XAudiocast | Version::Shoutcast => false,
            }
    }

    fn connection_has(&self, option: &str) -> bool {
        let mut options = self.items("connection");
        options.any(|item| item.eq_ignore_ascii_case(option))
    }

    /// Returns the items of all headers of a name, which are lists.
    fn items(&self, name: &str) -> impl Iterator<Item = &str> {
        let lists = self.header_values(name);
        lists.flat_map(|value| value.split(',')).map(str::trim)
    }

    /// Whether the client wants to continue within TLS on this connection (RFC 2817 §3.1). Every name of the protocol counts
    /// simply as TLS: libshout sends `TLS/1.0` whatever version it then offers.
    pub fn upgrades_to_tls(&self) -> bool {
        let is_tls = |protocol: &str| {
            let name = protocol.get(..4);
            name.is_some_and(|name| name.eq_ignore_ascii_case("TLS/"))
        };
        self.upgrades_to(is_tls)
    }

    /// Whether the client wants to speak WebSocket from here on (RFC 6455 §4.2.1).
    pub fn upgrades_to_websocket(&self) -> bool {
        let is_websocket = |protocol: &str| protocol.eq_ignore_ascii_case("websocket");
        self.method() == "GET" && self.upgrades_to(is_websocket)
    }

    /// Whether the client requests an upgrade to a matching protocol. By RFC 9110 §7.8 an HTTP/1.0 request cannot, and
    /// `Connection` must name `upgrade`, because a proxy passes on an `Upgrade` header that it does not know.
    fn upgrades_to(&self, is_it: impl Fn(&str) -> bool) -> bool {
        self.version == Version::Http11
            && self.connection_has("upgrade")
            && self.items("upgrade").any(is_it)
    }

    /// Whether the client waits for `100 Continue`. Unlike RFC 9110 §10.1.1 this holds for HTTP/1.0 too: Liquidsoap sends it
    /// there, and treats any other first reply as an error.
    pub fn expects_continue(&self) -> bool {
        let mut expected = self.items("expect");
        expected.any(|item| item.eq_ignore_ascii_case("100-continue"))
    }

    /// Whether the listener wants titles interleaved.
    pub fn wants_icy(&self) -> bool {
        self.header("icy-metadata") == Some("1")
    }

    /// Returns the one range of bytes requested. Returns `None` for none, several, a suffix, or nonsense, all of which a server
    /// may ignore.
    pub fn byte_range(&self) -> Option<ByteRange> {
        let (first, last) = self
            .header("range")?
            .trim()
            .strip_prefix("bytes=")?
            .split_once('-')?;
        let last = if last.is_empty() {
            None
        } else {
            Some(last.parse().ok()?)
        };
        Some(ByteRange {
            first: first.parse().ok()?,
            last,
        })
    }

    /// Returns a source's description of its stream: the `ice-*`, `icy-*` and `x-audiocast-*` headers, named without the prefix
    /// (`name`, `description`, `bitrate`, `audio-info`, …).
    pub fn ice_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers()
            .filter_map(|(name, value)| Some((source::ice_suffix(name)?, value)))
    }
}

impl Field {
    fn name(&self) -> Range<usize> {
        self.start as usize..self.colon as usize
    }

    fn value(&self) -> Range<usize> {
        self.colon as usize..self.end as usize
    }
}

/// Returns the authority, if the target is in absolute form, and the rest of the target after it.
fn split_authority(target: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let scheme = [&b"http://"[..], b"https://"].into_iter().find(|scheme| {
        target
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let Some(scheme) = scheme else {
        return (None, target);
    };
    let rest = &target[scheme.len()..];
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
    let (authority, origin) = rest.split_at(end.unwrap_or(rest.len()));
    (Some(authority), origin)
}

/// Whether a target has one of the forms of RFC 9112 §3.2, without characters that an address may not contain. UTF-8 is
/// allowed, because old browsers sent it.
fn is_regular_target(target: &[u8]) -> bool {
    let has_form =
        target == b"*" || target.starts_with(b"/") || split_authority(target).0.is_some();
    has_form && !target.iter().any(|byte| matches!(byte, b' ' | b'#'))
}

/// Head whose lines are still arriving.
#[derive(Debug)]
pub(crate) struct HeadBuilder {
    head: Head,
    framing: Framing,
}

impl HeadBuilder {
    /// Begins with a request line, without its line end.
    pub(crate) fn new(line: &[u8]) -> Result<Self, Error> {
        let request = RequestLine::parse(line)?;
        let method = utf8_or_latin1(request.method);
        let password = request.password.map(utf8_or_latin1);
        let login = password.map(|password| Credentials::new("", &password));
        let mut builder = Self::begin(request.version, &method, request.target, login);
        builder.head.quirk = request.quirk(line);
        Ok(builder)
    }

    /// Begins with the login that a source sent before its headers.
    pub(crate) fn of_login(version: Version, path: &str, login: Credentials) -> Self {
        Self::begin(version, "SOURCE", path.as_bytes(), Some(login))
    }

    fn begin(version: Version, method: &str, target: &[u8], login: Option<Credentials>) -> Self {
        let head = Head {
            version,
            body: Body::None,
            target: target.to_vec(),
            login,
            text: method.to_owned(),
            method_end: method.len(),
            fields: Vec::new(),
            foreign: Vec::new(),
            quirk: None,
        };
        Self {
            head,
            framing: Framing::default(),
        }
    }

    /// Adds a header line, without its line end.
    pub(crate) fn field(&mut self, line: &[u8]) -> Result<(), Error> {
        if matches!(line.first(), Some(b' ' | b'\t')) {
            return Err(Error::HeaderFolded);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let colon = colon.ok_or(Error::HeaderMalformed)?;
        let (name, value) = (&line[..colon], trim_ows(&line[colon + 1..]));
        if !is_token(name) {
            return Err(Error::HeaderMalformed);
        }
        let text = &mut self.head.text;
        let start = text.len();
        text.extend(
            name.iter()
                .map(|byte| char::from(byte.to_ascii_lowercase())),
        );
        let colon = text.len();
        let value_text = utf8_or_latin1(value);
        if matches!(value_text, Cow::Owned(_)) {
            let index = self.head.fields.len();
            self.head.foreign.push((index, value.to_vec()));
        }
        text.push_str(&value_text);
        match &text[start..colon] {
            "content-length" => self.framing.content_length(&text[colon..])?,
            "transfer-encoding" => self.framing.transfer_encoding(&text[colon..])?,
            _ => {}
        }
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        if value.iter().any(is_control) {
            self.head.quirk.get_or_insert(Error::ControlByte);
        }
        let (start, colon, end) = (start as u32, colon as u32, text.len() as u32);
        self.head.fields.push(Field { start, colon, end });
        Ok(())
    }

    /// Returns the head, once all its lines have arrived. `quirk` is a deviation in its line ends.
    pub(crate) fn finish(mut self, quirk: Option<Error>) -> Result<Head, Error> {
        let head = &mut self.head;
        head.body = self.framing.decide(head.method(), head.version)?;
        head.quirk = quirk
            .or(head.quirk)
            .or_else(|| self.framing.quirk())
            .or_else(|| head.host_quirk());
        Ok(self.head)
    }
}

struct RequestLine<'a> {
    method: &'a [u8],
    target: &'a [u8],
    version: Version,
    password: Option<&'a [u8]>,
}

impl<'a> RequestLine<'a> {
    /// Returns the error for elements that only a source client may use.
    fn quirk(&self, line: &[u8]) -> Option<Error> {
        // With one space between its parts and none around them, the line is as long as its parts together.
        let parts = [self.method, b" ", self.target, b" HTTP/1.x"];
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let version = line.len().checked_sub(b"HTTP/1.x".len());
        let is_http = version.is_some_and(|at| line[at..].starts_with(b"HTTP/1."));
        if line.len() != length || !is_http {
            Some(Error::RequestLineMalformed)
        } else if !is_regular_target(self.target) {
            Some(Error::TargetMalformed)
        } else {
            None
        }
    }

    /// Splits at the first and the last space, because the target between may contain spaces.
    fn parse(line: &'a [u8]) -> Result<Self, Error> {
        let line = trim_ows(line);
        let is_space = |byte: &u8| *byte == b' ';
        let first = line.iter().position(is_space);
        let last = line.iter().rposition(is_space);
        let (first, last) = first.zip(last).ok_or(Error::RequestLineMalformed)?;
        let (method, word) = (&line[..first], &line[last + 1..]);
        if !is_token(method) || line.iter().any(u8::is_ascii_control) {
            return Err(Error::RequestLineMalformed);
        }
        let between = trim_ows(&line[first..last]);
        if between.is_empty() {
            return Err(Error::RequestLineMalformed);
        }
        let login = method == b"SOURCE" && word.starts_with(b"/") && !between.starts_with(b"/");
        let (target, version, password) = match login {
            true => (word, Version::XAudiocast, Some(between)),
            false => (between, Version::parse(word)?, None),
        };
        Ok(Self {
            method,
            target,
            version,
            password,
        })
    }
}

impl Version {
    /// Returns the version as a request line has it; `ICY` for SHOUTcast v1, whose requests have none.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Http2 => "HTTP/2.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http10 => "HTTP/1.0",
            Self::Ice10 => "ICE/1.0",
            Self::XAudiocast => "x-audiocast",
            Self::Shoutcast => "ICY",
        }
    }

    /// Returns the version in the status line of a reply; ICE and x-audiocast peers understand HTTP/1.0.
    pub const fn of_reply(self) -> &'static str {
        match self {
            Self::Http11 | Self::Http2 => "HTTP/1.1",
            Self::Http10 | Self::Ice10 | Self::XAudiocast | Self::Shoutcast => "HTTP/1.0",
        }
    }

    fn parse(word: &[u8]) -> Result<Self, Error> {
        if word.eq_ignore_ascii_case(b"x-audiocast") {
            return Ok(Self::XAudiocast);
        }
        let slash = word.iter().position(|byte| *byte == b'/');
        let slash = slash.ok_or(Error::RequestLineMalformed)?;
        let (name, [b'/', major, b'.', minor]) = word.split_at(slash) else {
            return Err(Error::RequestLineMalformed);
        };
        if !is_token(name) || !major.is_ascii_digit() || !minor.is_ascii_digit() {
            return Err(Error::RequestLineMalformed);
        }
        match (name.to_ascii_uppercase().as_slice(), major, minor) {
            (b"HTTP", b'1', b'0') => Ok(Self::Http10),
            (b"HTTP", b'1', _) => Ok(Self::Http11),
            (b"ICE", b'1', b'0') => Ok(Self::Ice10),
            _ => Err(Error::VersionUnsupported),
        }
    }
}

#[cfg(test)]
mod tests;
