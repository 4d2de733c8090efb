//! Where a stream is, on another server: `rtmp[s]://user:password@host:port/app/name?query`.
//!
//! The services that streams are pushed to have made a secret of almost every part: the stream key is
//! the name, the token a query. So neither `Display` nor `Debug` shows more than scheme, host, port
//! and application.

// The type alone: the core library has no sockets.
use core::net::Ipv6Addr;
use std::{fmt, str::FromStr};

use percent_encoding::percent_decode_str;

use crate::auth;

/// The longest address. Tokens of services have a few hundred bytes.
pub const ADDRESS_BYTES_MAX: usize = 2048;

const PORT: u16 = 1935;
const PORT_TLS: u16 = 443;

/// An address, checked.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    is_secure: bool,
    host: String,
    port: u16,
    /// Without slashes at its ends; may have some inside.
    app: String,
    /// Without slashes; not empty.
    name: String,
    /// Without the question mark.
    query: String,
    /// Percent-decoded.
    user: Option<(String, String)>,
    /// What a server that asks for a proof was last given.
    step: Option<auth::Step>,
}

/// Why a text is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Neither `rtmp://` nor `rtmps://`.
    #[error("an RTMP address begins with rtmp:// or rtmps://")]
    Scheme,
    /// No host.
    #[error("the address names no host")]
    Host,
    /// A host with characters that no host has.
    #[error("the host is not a name or an IP address; IPv6 is written in [brackets]")]
    HostCharacters,
    /// A port that is no number from 1 to 65535.
    #[error("the port is not a number from 1 to 65535")]
    Port,
    /// Fewer than two segments.
    #[error("the address needs an application and a stream name: rtmp://host/app/name")]
    Path,
    /// Spaces or control characters.
    #[error("the address holds a space or a control character")]
    Characters,
    /// Longer than [`ADDRESS_BYTES_MAX`].
    #[error("the address is longer than {ADDRESS_BYTES_MAX} bytes")]
    TooLong,
}

impl Address {
    /// Whether the connection shall be encrypted.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// A name or an IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where a server asks to be looked for from now on (`tcUrl` of a reconnect request). The stream's
    /// name and query go along wherever that is, keys and tokens in them too: without them there is
    /// nothing to ask for there. User and password go along to the same host and port only. `None` if
    /// that is no address, or one without the encryption that this one has.
    pub fn moved_to(&self, tc_url: &str) -> Option<Self> {
        let scheme = if self.is_secure { "rtmps" } else { "rtmp" };
        let name = &self.name;
        let url = match tc_url.trim_end_matches('/') {
            url if url.contains("://") => format!("{url}/{name}"),
            url if url.starts_with("//") => format!("{scheme}:{url}/{name}"),
            url if url.starts_with('/') => format!("{scheme}://{}{url}/{name}", self.authority()),
            _ => return None,
        };
        let there: Self = url.parse().ok()?;
        if self.is_secure && !there.is_secure {
            return None;
        }
        let is_same = self.host.eq_ignore_ascii_case(&there.host) && self.port == there.port;
        Some(Self {
            query: self.query.clone(),
            user: match is_same {
                true => self.user.clone(),
                false => there.user.clone(),
            },
            ..there
        })
    }

    /// Whether `text` repeats a part of the address that is not for everybody to read. Servers quote
    /// what they were asked for.
    pub fn is_repeated_in(&self, text: &str) -> bool {
        let values = self.query.split('&').map(|pair| {
            let (_, value) = pair.split_once('=').unwrap_or((pair, pair));
            value
        });
        let user = self
            .user
            .iter()
            .flat_map(|(user, password)| [user, password]);
        let mut secrets = values.chain(user.map(String::as_str)).chain([&*self.name]);
        secrets.any(|secret| {
            let decoded = percent_decode_str(secret).decode_utf8_lossy();
            !secret.is_empty() && (text.contains(secret) || text.contains(&*decoded))
        })
    }

    /// The next address to try after `connect` was rejected with `description`, if that asks for a
    /// proof that this address can give.
    pub(super) fn answering(&self, description: &str, nonce: [u8; 4]) -> Option<Self> {
        let (user, password) = self.user.as_ref()?;
        let step = auth::answer(user, password, description, nonce)?;
        // Each step is taken once: a server that asks again takes the answer for wrong.
        let is_progress = match &self.step {
            None => true,
            Some(last) => !last.is_proof && step.is_proof,
        };
        is_progress.then(|| Self {
            step: Some(step),
            ..self.clone()
        })
    }

    /// `app` of `connect`.
    pub(super) fn app(&self) -> String {
        match &self.step {
            Some(step) => format!("{}?{}", self.app, step.query),
            None => self.app.clone(),
        }
    }

    /// `tcUrl` of `connect`.
    pub(super) fn tc_url(&self) -> String {
        format!("{}://{}/{}", self.scheme(), self.authority(), self.app())
    }

    /// The stream's name as `publish` and `play` have it.
    pub(super) fn stream(&self) -> String {
        match &*self.query {
            "" => self.name.clone(),
            query => format!("{}?{query}", self.name),
        }
    }

    fn scheme(&self) -> &'static str {
        if self.is_secure { "rtmps" } else { "rtmp" }
    }

    /// Host and port; the default port goes without saying.
    fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match (self.is_secure, self.port) {
            (false, PORT) | (true, PORT_TLS) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(AddressError::TooLong);
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(AddressError::Characters);
        }
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Scheme)?;
        let is_secure = match () {
            () if scheme.eq_ignore_ascii_case("rtmp") => false,
            () if scheme.eq_ignore_ascii_case("rtmps") => true,
            () => return Err(AddressError::Scheme),
        };
        // Passwords may hold anything, so the authority ends at the last at-sign before the path.
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host_port) = match authority.rsplit_once('@') {
            Some((user, host_port)) => (Some(user), host_port),
            None => (None, authority),
        };
        let (host, port) = host_and_port(host_port)?;
        let default = if is_secure { PORT_TLS } else { PORT };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (app, name) = path
            .trim_matches('/')
            .rsplit_once('/')
            .ok_or(AddressError::Path)?;
        let app = app.trim_end_matches('/');
        Ok(Self {
            is_secure,
            host: host.to_owned(),
            port: port.unwrap_or(default),
            app: app.to_owned(),
            name: name.to_owned(),
            query: query.to_owned(),
            user: user.map(|user| {
                let (user, password) = user.split_once(':').unwrap_or((user, ""));
                let decode = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
                (decode(user), decode(password))
            }),
            step: None,
        })
    }
}

fn host_and_port(text: &str) -> Result<(&str, Option<u16>), AddressError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or(AddressError::HostCharacters)?;
            let is_address = host.parse::<Ipv6Addr>().is_ok();
            if !is_address || !(port.is_empty() || port.starts_with(':')) {
                return Err(AddressError::HostCharacters);
            }
            (host, port.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((_, port)) if port.contains(':') => return Err(AddressError::HostCharacters),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() {
        return Err(AddressError::Host);
    }
    if !host.chars().all(is_host) {
        return Err(AddressError::HostCharacters);
    }
    let port = match port {
        None => None,
        Some(port) => match port.parse() {
            Ok(0) | Err(_) => return Err(AddressError::Port),
            Ok(port) => Some(port),
        },
    };
    Ok((host, port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}/…", self.scheme(), self.authority(), self.app)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}
