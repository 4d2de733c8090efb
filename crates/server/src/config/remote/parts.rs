//! An address cut at its joints, and what can be told from them.

use std::fmt;

use super::{HIDDEN, UrlFault};

/// Longest address. Those of the large platforms have some two hundred bytes.
const URL_BYTES_MAX: usize = 2_048;

/// An address cut at its joints. All parts together are the whole but for the separators.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    pub(super) scheme: &'a str,
    pub(super) credentials: Option<&'a str>,
    /// Host and port.
    pub(super) host: &'a str,
    /// With its leading `/`, or empty.
    pub(super) path: &'a str,
    /// Without the `?`.
    pub(super) query: Option<&'a str>,
}

impl Parts<'_> {
    pub(super) fn fmt_server(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.credentials.map_or("", |_| "***@");
        write!(f, "{}://{hidden}{}", self.scheme, self.host)
    }

    pub(super) fn fmt_query(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.query {
            Some(_) => write!(f, "?{HIDDEN}"),
            None => Ok(()),
        }
    }
}

/// Cuts an address and checks what the cutting shows.
pub(super) fn parts<'a>(text: &'a str, schemes: &[&str]) -> Result<Parts<'a>, UrlFault> {
    if text.len() > URL_BYTES_MAX {
        return Err(UrlFault::TooLong);
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(UrlFault::Character);
    }
    let parts = cut(text);
    if parts.scheme.is_empty() {
        return Err(UrlFault::NoAddress);
    }
    if !schemes.contains(&parts.scheme) {
        return Err(UrlFault::Scheme(parts.scheme.to_owned()));
    }
    let (host, port) = match parts.host.rsplit_once(':') {
        // The colons of `[::1]` are no port's.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (parts.host, None),
    };
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || host == "[]" || (host.contains(':') && !is_bracketed) {
        return Err(UrlFault::NoHost);
    }
    match port.map(str::parse::<u16>) {
        None | Some(Ok(1..)) => Ok(parts),
        _ => Err(UrlFault::Port),
    }
}

/// Cuts an address at its joints. An empty scheme says that it is none.
pub(super) fn cut(text: &str) -> Parts<'_> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let scheme = if is_scheme { scheme } else { "" };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (server, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (credentials, host) = match server.rsplit_once('@') {
        Some((credentials, host)) => (Some(credentials), host),
        None => (None, server),
    };
    Parts {
        scheme,
        credentials,
        host,
        path,
        query,
    }
}

/// How many segments a path has that are not empty.
pub(super) fn segments(path: &str) -> usize {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .count()
}
