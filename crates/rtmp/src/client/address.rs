//! Address of a stream on another server: application and name, and the other parts of its URL.
//!
//! An [`Address`] is made of the [`Parts`] that the caller has read from a URL; this crate knows no syntax of
//! URLs.
//!
//! The services that streams are pushed to have made a secret of almost every part: the stream key is the
//! name, the token a query. So neither `Display` nor `Debug` shows more than scheme, host, port and
//! application.

use std::fmt;

use percent_encoding::percent_decode_str;

use crate::auth;

const PORT: u16 = 1935;
const PORT_TLS: u16 = 443;

/// Parts of a URL, as its parser returns them.
pub struct Parts<'a> {
    /// Scheme in lower case: `rtmp` or `rtmps`.
    pub scheme: &'a str,
    /// Host: a name or an IP address, without brackets.
    pub host: &'a str,
    /// TCP port; `None` is the scheme's.
    pub port: Option<u16>,
    /// Application and stream name, such as `/app/name`. Slashes at its ends do not count.
    pub path: &'a str,
    /// Query without the question mark; empty if there is none.
    pub query: &'a str,
    /// User and password, percent-decoded.
    pub user: Option<(String, String)>,
}

/// A checked address.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    is_secure: bool,
    host: String,
    port: u16,
    /// Application without slashes at its ends; may have some inside.
    app: String,
    /// Stream name without slashes; not empty.
    name: String,
    /// Query without the question mark.
    query: String,
    /// User and password, percent-decoded.
    user: Option<(String, String)>,
    /// Last step taken for a server that requests a proof.
    step: Option<auth::Step>,
}

/// Reason why a URL is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The scheme is neither `rtmp://` nor `rtmps://`.
    #[error("an RTMP address begins with rtmp:// or rtmps://")]
    Scheme,
    /// The path has fewer than two segments.
    #[error("the address needs an application and a stream name: rtmp://host/app/name")]
    Path,
}

impl Address {
    /// Creates an address from the parts of a URL.
    ///
    /// # Errors
    /// Another scheme, or a path of fewer than two segments.
    pub fn new(parts: Parts<'_>) -> Result<Self, AddressError> {
        let is_secure = is_secure(parts.scheme).ok_or(AddressError::Scheme)?;
        let (app, name) = parts
            .path
            .trim_matches('/')
            .rsplit_once('/')
            .ok_or(AddressError::Path)?;
        Ok(Self {
            is_secure,
            host: parts.host.to_owned(),
            port: parts.port.unwrap_or_else(|| default_port(is_secure)),
            app: app.trim_end_matches('/').to_owned(),
            name: name.to_owned(),
            query: parts.query.to_owned(),
            user: parts.user,
            step: None,
        })
    }

    /// Whether the connection must be encrypted.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Returns the host: a name or an IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns scheme, host and port, such as `rtmps://host:1936`: the base of a `tcUrl` without them.
    pub fn server(&self) -> String {
        format!("{}://{}", self.scheme(), self.authority())
    }

    /// Returns the address of the same stream on the server and under the application that the `tcUrl` of a
    /// [reconnect request](super::Event::Reconnect) names. The stream's name and query are kept wherever that
    /// is, with the keys and tokens in them: without them there is nothing to request there. User and
    /// password are kept for the same host and port only. `None` if `there` names no application, or is not
    /// encrypted although this address is.
    pub fn moved_to(&self, there: Parts<'_>) -> Option<Self> {
        let is_secure = is_secure(there.scheme)?;
        let app = there.path.trim_matches('/');
        if app.is_empty() || !there.query.is_empty() || (self.is_secure && !is_secure) {
            return None;
        }
        let port = there.port.unwrap_or_else(|| default_port(is_secure));
        let is_same = self.host.eq_ignore_ascii_case(there.host) && self.port == port;
        Some(Self {
            is_secure,
            host: there.host.to_owned(),
            port,
            app: app.to_owned(),
            name: self.name.clone(),
            query: self.query.clone(),
            user: match is_same {
                true => self.user.clone(),
                false => there.user,
            },
            step: None,
        })
    }

    /// Whether `text` repeats a secret part of the address. Servers quote their clients' requests.
    pub fn is_repeated_in(&self, text: &str) -> bool {
        let pairs = self.query.split('&');
        let values = pairs.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
        let users = self.user.iter();
        let users = users.flat_map(|(user, password)| [&**user, password]);
        let mut secrets = values.chain(users).chain([&*self.name]);
        secrets.any(|secret| {
            let decoded = percent_decode_str(secret).decode_utf8_lossy();
            !secret.is_empty() && (text.contains(secret) || text.contains(&*decoded))
        })
    }

    /// Returns the next address to try after `connect` was rejected with `description`, if that requests a
    /// proof that this address can provide.
    pub(super) fn answering(&self, description: &str, nonce: [u8; 4]) -> Option<Self> {
        let (user, password) = self.user.as_ref()?;
        let step = auth::answer(user, password, description, nonce)?;
        // Each step is taken once: a server that repeats its request considers the answer wrong.
        let is_progress = match &self.step {
            None => true,
            Some(last) => !last.is_proof && step.is_proof,
        };
        is_progress.then(|| Self {
            step: Some(step),
            ..self.clone()
        })
    }

    /// Returns `app` of `connect`.
    pub(super) fn app(&self) -> String {
        match &self.step {
            Some(step) => format!("{}?{}", self.app, step.query),
            None => self.app.clone(),
        }
    }

    /// Returns `tcUrl` of `connect`.
    pub(super) fn tc_url(&self) -> String {
        format!("{}/{}", self.server(), self.app())
    }

    /// Returns the stream's name as in `publish` and `play`.
    pub(super) fn stream(&self) -> String {
        match &*self.query {
            "" => self.name.clone(),
            query => format!("{}?{query}", self.name),
        }
    }

    fn scheme(&self) -> &'static str {
        if self.is_secure { "rtmps" } else { "rtmp" }
    }

    /// Returns host and port; the default port is omitted.
    fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.port == default_port(self.is_secure) {
            true => host,
            false => format!("{host}:{}", self.port),
        }
    }
}

/// Returns whether the scheme is encrypted RTMP; `None` for a scheme that is not RTMP's.
fn is_secure(scheme: &str) -> Option<bool> {
    match scheme {
        "rtmp" => Some(false),
        "rtmps" => Some(true),
        _ => None,
    }
}

fn default_port(is_secure: bool) -> u16 {
    if is_secure { PORT_TLS } else { PORT }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/…", self.server(), self.app)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}
