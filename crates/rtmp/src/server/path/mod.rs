//! Resolution of the stream that a peer means, with its credentials.
//!
//! Encoders spread one address over three fields, each in its own way: ffmpeg cuts the path at its second
//! slash even inside the query, OBS puts the query into the application or the stream key, others leave it in
//! `tcUrl` only. [`StreamPath::resolve`] puts the address together again.

use std::{borrow::Cow, fmt};

use percent_encoding::percent_decode_str;

/// A stream's name and the credentials sent with it. `Debug` shows no credentials.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct StreamPath {
    /// Application and stream, `live/show`: segments joined by single slashes, otherwise as sent.
    /// Untrusted text.
    pub name: String,
    /// Query, as sent; queries from several places are joined by `&`.
    pub query: String,
    /// User and password of the address, percent-decoded.
    pub user: Option<(String, String)>,
    /// Host name of the server as the peer knows it, without port or brackets.
    pub host: Option<String>,
    /// Kind of file, if the sent name indicated one; it is no longer part of `name`.
    pub file_kind: Option<FileKind>,
}

/// A kind of file, as Flash indicates it: by a prefix of the name, or by the extension `.flv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `mp4:`, for any ISO media file.
    Mp4,
    /// `flv:`, and `.flv`.
    Flv,
    /// `mp3:`.
    Mp3,
}

impl StreamPath {
    /// Combines the fields of `connect` (`tcUrl`, `app`) and the name in `publish` or `play`.
    pub fn resolve(tc_url: &str, app: &str, name: &str) -> Self {
        let address = Address::parse(split_answer(trim(tc_url)).0);
        let app = match split_answer(trim(app)).0.trim_start_matches('/') {
            "" => address.path,
            app => app,
        };
        let (app, app_query) = split_query(app);
        let app = app.trim_matches('/');
        let name = split_answer(trim(name)).0;

        let mut path = Self {
            user: address.user,
            host: address.host,
            ..Self::default()
        };
        if app_query.is_some() && app.contains('/') && !name.starts_with('?') {
            // The application is complete: the cut went through the query, and the name is its end.
            let end = if name.is_empty() { "" } else { "/" };
            let name = name.strip_prefix("mp4:").unwrap_or(name);
            path.name = join(app, "");
            path.add_query(&format!("{}{end}{name}", app_query.unwrap_or_default()));
        } else {
            let (name, name_query) = split_query(name);
            path.file_kind = FileKind::of(name);
            path.name = join(app, &file_name(name));
            path.add_query(app_query.unwrap_or_default());
            path.add_query(name_query.unwrap_or_default());
        }
        if app_query.is_none() {
            path.add_query(address.query.unwrap_or_default());
        }
        // ffmpeg and librtmp send `x` for `x.flv`, unless something follows it.
        if let Some(stem) = path.name.strip_suffix(".flv")
            && !stem.is_empty()
            && !stem.ends_with('/')
        {
            path.name.truncate(stem.len());
            path.file_kind.get_or_insert(FileKind::Flv);
        }
        path
    }

    /// Returns the name as that of a file: percent-decoded, since a client leaves an address as it was typed.
    pub fn file_name(&self) -> Cow<'_, str> {
        percent_decode(&self.name)
    }

    /// Returns the names and values of the query, percent-decoded. A plus sign stands for itself, as keys may
    /// hold one.
    pub fn parameters(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        self.query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (percent_decode(name), percent_decode(value))
            })
    }

    /// Returns the value of the first parameter with this name.
    pub fn parameter(&self, name: &str) -> Option<Cow<'_, str>> {
        self.parameters()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value)
    }

    fn add_query(&mut self, query: &str) {
        if !query.is_empty() {
            if !self.query.is_empty() {
                self.query.push('&');
            }
            self.query.push_str(query);
        }
    }
}

impl FileKind {
    /// Returns the kind that the prefix of a name indicates.
    fn of(name: &str) -> Option<Self> {
        let (prefix, _) = name.split_once(':')?;
        match prefix {
            "mp4" => Some(Self::Mp4),
            "flv" => Some(Self::Flv),
            "mp3" => Some(Self::Mp3),
            _ => None,
        }
    }
}

impl fmt::Debug for StreamPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamPath")
            .field("name", &self.name)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// Parts of `tcUrl`.
struct Address<'a> {
    user: Option<(String, String)>,
    host: Option<String>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Address<'a> {
    fn parse(url: &'a str) -> Self {
        let rest = url.split_once("://").map_or("", |(_, rest)| rest);
        // A query may follow the host at once, and may hold slashes and at-signs.
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (path, query) = split_query(path);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        Self {
            user: user.map(|user| {
                let (user, password) = user.split_once(':').unwrap_or((user, ""));
                (
                    percent_decode(user).into_owned(),
                    percent_decode(password).into_owned(),
                )
            }),
            host: host_name(host),
            path: path.trim_matches('/'),
            query,
        }
    }
}

fn host_name(host: &str) -> Option<String> {
    let name = match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next(),
        None => host.split(':').next(),
    };
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Splits off the query with which a client names itself to Adobe's authentication, or answers it. Clients
/// append it to the end of the address, after a query of the user's and with a second question mark
/// (`live?key=K?authmod=adobe&user=U`).
pub(super) fn split_answer(text: &str) -> (&str, Option<&str>) {
    match text.find("authmod=").and_then(|at| at.checked_sub(1)) {
        Some(before) if matches!(text.as_bytes()[before], b'?' | b'&') => {
            (&text[..before], Some(&text[before + 1..]))
        }
        _ => (text, None),
    }
}

fn split_query(text: &str) -> (&str, Option<&str>) {
    let parts = text.split_once('?');
    parts.map_or((text, None), |(path, query)| (path, Some(query)))
}

/// Removes remains of a command line around an address: quotes, spaces, and librtmp's options after a space
/// (`'rtmp://host/app live=1'`).
fn trim(text: &str) -> &str {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\'' || c == '"');
    text.split(char::is_whitespace).next().unwrap_or_default()
}

/// Returns the name as the user typed it: Flash treats a name as that of a file, and so ffmpeg and librtmp
/// send `mp4:x.mp4` for `x.mp4`, and librtmp `mp3:x` for `x.mp3`.
fn file_name(name: &str) -> Cow<'_, str> {
    let name = name.trim_end_matches('/');
    if let Some(stem) = name.strip_prefix("mp3:") {
        let has_extension = stem.is_empty() || stem.ends_with(".mp3");
        return match has_extension {
            true => Cow::Borrowed(stem),
            false => Cow::Owned(format!("{stem}.mp3")),
        };
    }
    let name = ["mp4:", "flv:"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    Cow::Borrowed(name)
}

fn join(app: &str, name: &str) -> String {
    let segments = app.split('/').chain(name.split('/'));
    let segments: Vec<_> = segments.filter(|segment| !segment.is_empty()).collect();
    segments.join("/")
}

/// Decodes `%xx`; anything that is no escape stays, and anything that is not UTF-8 is replaced.
fn percent_decode(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

#[cfg(test)]
mod tests;
