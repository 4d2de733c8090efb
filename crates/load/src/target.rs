//! Addresses of a load: server, protocol and stream.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use net::url::{Url, UrlError};
use serde::{Deserialize, Serialize};

/// Placeholder for the number of a stream, counted from 0, if there are several.
const NUMBER: &str = "{n}";

/// Address at which to listen or to publish.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) protocol: Protocol,
    /// Whether the connection is within TLS.
    pub(crate) is_secure: bool,
    /// Name or address of the server, without a port.
    pub(crate) host: String,
    /// `host` or `host:port`.
    pub(crate) authority: String,
    pub(crate) addr: SocketAddr,
    /// Path without its first slash, and with the query.
    path: String,
    /// Icecast's user and password, or WebRTC's bearer token.
    pub(crate) credentials: String,
}

/// The protocol that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Protocol {
    Http,
    /// WebSocket, whose messages carry the body of HTTP.
    Websocket,
    Rtmp,
    Icecast,
    /// WebRTC, negotiated over HTTP.
    Whep,
    Whip,
    /// HLS and low-latency HLS.
    Hls,
    /// Sealed packets for every client that greets the server: the floor server's.
    Srtp,
}

impl Protocol {
    /// Scheme of an address, its protocol, whether it is within TLS, and the port if the address names none.
    const SCHEMES: [(&str, Self, bool, u16); 11] = [
        ("http", Self::Http, false, 80),
        ("https", Self::Http, true, 443),
        ("ws", Self::Websocket, false, 80),
        ("wss", Self::Websocket, true, 443),
        ("rtmp", Self::Rtmp, false, 1935),
        ("rtmps", Self::Rtmp, true, 443),
        ("icecast", Self::Icecast, false, 8000),
        ("hls+http", Self::Hls, false, 80),
        ("whep+http", Self::Whep, false, 80),
        ("whip+http", Self::Whip, false, 80),
        ("srtp", Self::Srtp, false, 8189),
    ];

    fn scheme(self, is_secure: bool) -> &'static str {
        let mut schemes = Self::SCHEMES.into_iter();
        let own =
            schemes.find(|(_, protocol, secure, _)| (*protocol, *secure) == (self, is_secure));
        own.map_or("", |(scheme, ..)| scheme)
    }
}

/// Reasons why a text is not an address for a load.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    /// The scheme is unknown.
    #[error(
        "an address begins with http://, https://, ws://, wss://, hls+http://, rtmp://, rtmps://, icecast://, whep+http:// or whip+http://"
    )]
    Scheme,
    /// The text is not a URL.
    #[error("the address {0}")]
    Url(UrlError),
    /// The name cannot be resolved.
    #[error("the address names no host: {0}")]
    Host(std::io::Error),
    /// The name resolves to nothing.
    #[error("the host has no address")]
    Unresolved,
    /// The RTMP address lacks an application and a name, or there is nothing behind the host.
    #[error("the address names no stream: rtmp://host/app/name, http://host:port/path")]
    Path,
    /// The Icecast address lacks `user:password@`.
    #[error("publishing to Icecast needs a password: icecast://source:KEY@host:port/mount")]
    Credentials,
}

impl Target {
    /// Returns whether the address names one stream for each number.
    pub(crate) fn is_numbered(&self) -> bool {
        self.path.contains(NUMBER)
    }

    /// Returns the path of stream `number`, without the first slash.
    pub(crate) fn path(&self, number: u64) -> String {
        self.path.replace(NUMBER, &number.to_string())
    }

    /// Returns RTMP's application and the name of stream `number`, with its query.
    pub(crate) fn app_and_name(&self, number: u64) -> (String, String) {
        let path = self.path(number);
        // Applications may contain slashes; a query may, too.
        let end = path.find('?').unwrap_or(path.len());
        let slash = path[..end].rfind('/').unwrap_or(0);
        let name = path.get(slash + 1..).unwrap_or_default().to_owned();
        (path[..slash].to_owned(), name)
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url: Url = text.parse()?;
        let (_, protocol, is_secure, default_port) = Protocol::SCHEMES
            .into_iter()
            .find(|(scheme, ..)| *scheme == url.scheme())
            .ok_or(TargetError::Scheme)?;
        let userinfo = url.userinfo().unwrap_or_default();
        if protocol == Protocol::Icecast && !userinfo.contains(':') {
            return Err(TargetError::Credentials);
        }
        // A token becomes part of a header as it stands; user and password are decoded, as ffmpeg does.
        let credentials = match (protocol, url.credentials()) {
            (Protocol::Icecast, Some((user, password))) => format!("{user}:{password}"),
            _ => userinfo.to_owned(),
        };
        let path = url.path().strip_prefix('/').ok_or(TargetError::Path)?;
        let is_complete = match protocol {
            Protocol::Http | Protocol::Srtp => true,
            Protocol::Icecast
            | Protocol::Websocket
            | Protocol::Hls
            | Protocol::Whep
            | Protocol::Whip => !path.is_empty(),
            Protocol::Rtmp => {
                matches!(path.rsplit_once('/'), Some((app, name)) if !app.is_empty() && !name.is_empty())
            }
        };
        if !is_complete {
            return Err(TargetError::Path);
        }
        let server = (url.host(), url.port().unwrap_or(default_port));
        let addr = server.to_socket_addrs().map_err(TargetError::Host)?.next();
        Ok(Self {
            protocol,
            is_secure,
            host: url.host().to_owned(),
            authority: url.authority(),
            addr: addr.ok_or(TargetError::Unresolved)?,
            path: match url.query() {
                Some(query) => format!("{path}?{query}"),
                None => path.to_owned(),
            },
            credentials,
        })
    }
}

impl From<UrlError> for TargetError {
    fn from(error: UrlError) -> Self {
        match error {
            UrlError::Scheme => Self::Scheme,
            error => Self::Url(error),
        }
    }
}

/// Omits what may be secret: credentials and query.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.protocol.scheme(self.is_secure);
        let path = self.path.split('?').next().unwrap_or_default();
        write!(formatter, "{scheme}://{}/{path}", self.authority)
    }
}

/// Shows the address as for people, and the server's address.
impl fmt::Debug for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Target({self} at {})", self.addr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Target {
        text.parse().expect(text)
    }

    #[test]
    fn addresses_are_taken_apart() {
        let http = parse("http://127.0.0.1:8000/live/show.flv?a=b");
        assert_eq!(http.addr.to_string(), "127.0.0.1:8000");
        assert_eq!(http.path(0), "live/show.flv?a=b");
        let rtmp = parse("rtmp://127.0.0.1/live/room/show{n}?key=a/b");
        assert_eq!(rtmp.addr.port(), 1935);
        assert!(rtmp.is_numbered());
        let names = ("live/room".to_owned(), "show7?key=a/b".to_owned());
        assert_eq!(rtmp.app_and_name(7), names);
        let icecast = parse("icecast://source:p@ss@[::1]:9000/radio.mp3");
        assert_eq!(icecast.credentials, "source:p@ss");
        let encoded = parse("icecast://source:p%3Fss@127.0.0.1/radio.mp3");
        assert_eq!(encoded.credentials, "source:p?ss");
        assert_eq!(icecast.addr.to_string(), "[::1]:9000");
        assert_eq!(parse("http://[::1]/x").addr.port(), 80);
        let whip = parse("whip+http://key@127.0.0.1:8000/live/show{n}/whip");
        assert_eq!(whip.protocol, Protocol::Whip);
        assert_eq!(whip.credentials, "key");
        assert_eq!(whip.path(2), "live/show2/whip");
        let secure = parse("https://127.0.0.1/radio.mp3");
        assert_eq!((secure.protocol, secure.is_secure), (Protocol::Http, true));
        let messages = parse("wss://127.0.0.1/live/show.flv");
        assert_eq!(messages.protocol, Protocol::Websocket);
        assert!(messages.is_secure);
        assert_eq!((&secure.host[..], secure.addr.port()), ("127.0.0.1", 443));
        assert_eq!(secure.to_string(), "https://127.0.0.1/radio.mp3");
        let hls = parse("hls+http://127.0.0.1:8000/live/show{n}/index.m3u8");
        assert_eq!(hls.protocol, Protocol::Hls);
        assert_eq!(hls.path(2), "live/show2/index.m3u8");
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = parse("rtmp://127.0.0.1/live/show?key=hidden").to_string();
        assert_eq!(shown, "rtmp://127.0.0.1/live/show");
        let shown = parse("icecast://source:hidden@127.0.0.1:80/a.mp3").to_string();
        assert_eq!(shown, "icecast://127.0.0.1:80/a.mp3");
        let target = parse("whip+http://hidden@127.0.0.1:80/a/whip?key=hidden");
        assert_eq!(target.to_string(), "whip+http://127.0.0.1:80/a/whip");
        let shown = "Target(whip+http://127.0.0.1:80/a/whip at 127.0.0.1:80)";
        assert_eq!(format!("{target:?}"), shown);
    }

    #[test]
    fn incomplete_addresses_are_refused() {
        for text in [
            "ftp://127.0.0.1/x",
            "http://127.0.0.1:8000",
            "rtmp://127.0.0.1/live",
            "rtmp://127.0.0.1/live/?key=x/y",
            "icecast://127.0.0.1/radio.mp3",
            "icecast://source:key@127.0.0.1/",
            "http://127.0.0.1:99999/x",
            "whep+http://127.0.0.1:8000/",
            "hls+http://127.0.0.1:8000/",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
