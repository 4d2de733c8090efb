//! Which stream a peer means, and with what credentials.
//!
//! Encoders spread one address over three fields, each in its own way: ffmpeg cuts the path at its
//! second slash even inside the query, OBS puts the query into the application or the stream key, others
//! leave it in `tcUrl` only. [`StreamPath::resolve`] puts the address together again.

use std::{borrow::Cow, fmt};

/// A stream's name and what came with it. `Debug` shows no credentials.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct StreamPath {
    /// Application and stream, `live/show`: segments joined by single slashes, otherwise as sent.
    /// Untrusted text.
    pub name: String,
    /// The query, as sent; queries from several places are joined by `&`.
    pub query: String,
    /// User and password of the address, percent-decoded.
    pub user: Option<(String, String)>,
    /// The host the peer believes to talk to, without port or brackets.
    pub host: Option<String>,
}

impl StreamPath {
    /// Puts together what `connect` said (`tcUrl`, `app`) and the name in `publish` or `play`.
    pub fn resolve(tc_url: &str, app: &str, name: &str) -> Self {
        let address = Address::parse(split_answer(trim(tc_url)).0);
        let app = match split_answer(trim(app)).0.trim_matches('/') {
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
            // The application is whole already: the cut went through the query, and the name is the
            // end of it.
            let end = if name.is_empty() { "" } else { "/" };
            path.name = join(app, "");
            path.add_query(&format!("{}{end}{name}", app_query.unwrap_or_default()));
        } else {
            let (name, name_query) = split_query(name);
            path.name = join(app, strip_prefix(name));
            path.add_query(app_query.unwrap_or_default());
            path.add_query(name_query.unwrap_or_default());
        }
        if app_query.is_none() {
            path.add_query(address.query.unwrap_or_default());
        }
        path
    }

    /// The names and values of the query, percent-decoded. A plus sign stands for itself, as keys may
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

    /// The value of the first parameter with this name.
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

impl fmt::Debug for StreamPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamPath")
            .field("name", &self.name)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// The parts of `tcUrl`.
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

/// Takes off the query by which a client names itself to Adobe's authentication, or answers it. Clients
/// hang it on the end of the address, behind a query of the user's and with a second question mark
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
    match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    }
}

/// Removes what command lines leave around an address: quotes, spaces, and librtmp's options after
/// a space (`'rtmp://host/app live=1'`).
fn trim(text: &str) -> &str {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\'' || c == '"');
    text.split(char::is_whitespace).next().unwrap_or_default()
}

/// Removes the container prefix that ffmpeg and Flash put before some names.
fn strip_prefix(name: &str) -> &str {
    ["mp4:", "flv:", "mp3:"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

fn join(app: &str, name: &str) -> String {
    let mut joined = String::with_capacity(app.len() + 1 + name.len());
    for segment in app
        .split('/')
        .chain(name.split('/'))
        .filter(|s| !s.is_empty())
    {
        if !joined.is_empty() {
            joined.push('/');
        }
        joined.push_str(segment);
    }
    joined
}

/// Decodes `%xx`; what is no escape stays, and what is not UTF-8 is replaced.
fn percent_decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        match tail {
            [high, low, after @ ..]
                if byte == b'%' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                bytes.push(hex(*high) << 4 | hex(*low));
                rest = after;
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tc_url: &str, app: &str, name: &str, stream: &str, query: &str) {
        let path = StreamPath::resolve(tc_url, app, name);
        assert_eq!((path.name.as_str(), path.query.as_str()), (stream, query));
    }

    #[test]
    fn plain() {
        check("rtmp://h/live", "live", "show", "live/show", "");
        check("rtmp://h/live/", "live/", "show", "live/show", "");
        check("rtmp://h:1935/a/b", "a/b", "c", "a/b/c", "");
        check("", "live", "show", "live/show", "");
        check("rtmp://h/live", "", "show", "live/show", "");
        check("rtmp://h", "", "", "", "");
    }

    #[test]
    fn query_in_every_place() {
        check("rtmp://h/live", "live", "show?key=K", "live/show", "key=K");
        check(
            "rtmp://h/live?key=K",
            "live?key=K",
            "show",
            "live/show",
            "key=K",
        );
        check("rtmp://h/live?key=K", "live", "show", "live/show", "key=K");
        check(
            "rtmp://h/live/?key=K",
            "live/?key=K",
            "show",
            "live/show",
            "key=K",
        );
        check(
            "rtmp://h/live/show",
            "live/show",
            "?key=K",
            "live/show",
            "key=K",
        );
        check(
            "rtmp://h/live?a=1",
            "live?a=1",
            "show?b=2",
            "live/show",
            "a=1&b=2",
        );
    }

    #[test]
    fn ffmpeg_cuts_inside_the_query() {
        check(
            "rtmp://h:1935/live/s?u=a",
            "live/s?u=a",
            "b",
            "live/s",
            "u=a/b",
        );
        check(
            "rtmp://h/live/s?u=a",
            "live/s?u=a",
            "b/c?d",
            "live/s",
            "u=a/b/c?d",
        );
        check(
            "rtmp://h/live/s?key=K",
            "live/s?key=K",
            "",
            "live/s",
            "key=K",
        );
    }

    #[test]
    fn values_keep_slashes_colons_and_plus() {
        let path = StreamPath::resolve("rtmp://h/live", "live", "show?key=a/b:c+d%2Fe&x&=&k=%zz%4");
        assert_eq!(path.name, "live/show");
        assert_eq!(path.parameter("key").as_deref(), Some("a/b:c+d/e"));
        assert_eq!(path.parameter("x").as_deref(), Some(""));
        assert_eq!(path.parameter("k").as_deref(), Some("%zz%4"));
        assert_eq!(path.parameter("none"), None);
    }

    #[test]
    fn quotes_options_and_prefixes_go() {
        check(
            "'rtmp://h/live live=1'",
            "'live",
            "show live=1'",
            "live/show",
            "",
        );
        check("\"rtmp://h/live\"", "live", " \"show\" ", "live/show", "");
        check("rtmp://h/live", "live", "mp4:show.mp4", "live/show.mp4", "");
        check("rtmp://h/live", "live", "flv:show", "live/show", "");
    }

    #[test]
    fn user_and_host() {
        let path = StreamPath::resolve("rtmp://me:p%40ss@[::1]:1935/live", "live", "show");
        assert_eq!(path.user, Some(("me".into(), "p@ss".into())));
        assert_eq!(path.host.as_deref(), Some("::1"));
        let path = StreamPath::resolve("rtmps://relay.example:443/live", "live", "show");
        assert_eq!(
            (path.user, path.host.as_deref()),
            (None, Some("relay.example"))
        );
    }

    #[test]
    fn debug_shows_no_credentials() {
        let path = StreamPath::resolve(
            "rtmp://qwerty:hunter2@h/live?k=sesame",
            "live",
            "show?key=xyzzy",
        );
        assert!(path.user.is_some() && path.query.contains("xyzzy"));
        let shown = format!("{path:?}");
        assert!(shown.contains("live/show"), "{shown}");
        for secret in ["qwerty", "hunter2", "sesame", "xyzzy"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
