//! Addresses of other servers: where streams are pushed to and pulled from.
//!
//! Such an address is a secret in most of its parts: `user:password@`, the query, and what other
//! servers call a stream key, the last segment of the path. It is taken apart here only as far as
//! is needed to tell a slip and to show the rest; the parsers of those who connect have the last word.

use std::fmt;

use ingest::pull::{self, Source, SourceError};
use media::StreamName;
use rtmp::client::{Address, AddressError};

use super::setting::nearest;

/// Longest address. Those of the large platforms have some two hundred bytes.
const URL_BYTES_MAX: usize = 2_048;

/// What stands in for a part that is not shown.
const HIDDEN: &str = "***";

/// Where streams are pushed to: `rtmp://` or `rtmps://`, with `{stream}`, `{app}` and `{name}` in
/// its path or query. It shows itself without its secrets.
#[derive(Clone, Eq, PartialEq)]
pub struct PushUrl(String);

/// Where a stream is pulled from: `rtmp://`, `rtmps://`, `http://` or `https://`, of which the last
/// two name an FLV stream. It shows itself without its secrets.
#[derive(Clone, Eq, PartialEq)]
pub struct PullUrl {
    text: String,
    source: Source,
}

/// What is wrong with an address. It repeats none of it but a scheme or a placeholder.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum UrlFault {
    #[error("is no address of another server")]
    NoAddress,
    #[error("`{0}://` is not spoken here")]
    Scheme(String),
    #[error("names no host")]
    NoHost,
    #[error("has no valid port")]
    Port,
    #[error("names no stream; the path needs two segments at least")]
    NoStream,
    #[error("{0}")]
    Target(#[from] AddressError),
    #[error("{0}")]
    Source(#[from] SourceError),
    #[error("names nothing but a host")]
    NoPath,
    #[error("ends with `.{0}`, and over HTTP only FLV can be pulled")]
    NotFlv(&'static str),
    #[error("holds a blank, a control character or one beyond ASCII; write those as %20 and so on")]
    Character,
    #[error("is longer than 2048 bytes")]
    TooLong,
    #[error("holds `{{{0}}}`, which stands for nothing")]
    Placeholder(String),
    #[error("holds a `{{` or `}}` without the other")]
    Brace,
    #[error("lets the stream's name choose the server; placeholders belong behind the host")]
    HostPlaceholder,
    #[error("holds a placeholder, but there is only one stream")]
    OneStream,
}

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Placeholder {
    /// The whole name: `live/show`.
    Stream,
    /// All but its last segment: `live`.
    App,
    /// Its last segment: `show`.
    Name,
}

impl Placeholder {
    const ALL: [(&'static str, Self); 3] = [
        ("stream", Self::Stream),
        ("app", Self::App),
        ("name", Self::Name),
    ];

    fn value(self, stream: &StreamName) -> &str {
        let whole = stream.as_str();
        let (app, name) = whole.rsplit_once('/').unwrap_or(("", whole));
        match self {
            Self::Stream => whole,
            Self::App => app,
            Self::Name => name,
        }
    }
}

/// A stretch of a template.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Stands(Placeholder),
}

/// An address cut at its joints. All parts together are the whole but for the separators.
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    scheme: &'a str,
    credentials: Option<&'a str>,
    /// Host and port.
    host: &'a str,
    /// With its leading `/`, or empty.
    path: &'a str,
    /// Without the `?`.
    query: Option<&'a str>,
}

impl PushUrl {
    pub(super) const SCHEMES: [&str; 2] = ["rtmp", "rtmps"];

    /// Accepts an address, or says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, UrlFault> {
        let parts = parts(text, &Self::SCHEMES)?;
        let pieces = pieces(text)?;
        if has_brace(parts.host) || parts.credentials.is_some_and(has_brace) {
            return Err(UrlFault::HostPlaceholder);
        }
        // `{stream}` alone is enough where every name has two segments; a name that has one is found
        // out when it is pushed.
        let names_both = pieces.contains(&Piece::Stands(Placeholder::Stream));
        if !names_both && segments(parts.path) < 2 {
            return Err(UrlFault::NoStream);
        }
        let example = StreamName::parse("live/show").expect("a name");
        fill(text, &example).parse::<Address>()?;
        Ok(Self(text.to_owned()))
    }

    /// The address for a stream, with its secrets.
    pub fn reveal(&self, stream: &StreamName) -> String {
        fill(&self.0, stream)
    }

    /// The address for a stream, without its secrets.
    pub fn shown(&self, stream: &StreamName) -> String {
        fill(&self.to_string(), stream)
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("rtmps://")
    }
}

impl PullUrl {
    pub(super) const SCHEMES: [&str; 4] = ["rtmp", "rtmps", "http", "https"];

    /// Accepts an address, or says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, UrlFault> {
        let parts = parts(text, &Self::SCHEMES)?;
        let found = segments(parts.path);
        if has_brace(text) {
            return Err(UrlFault::OneStream);
        }
        match parts.scheme {
            "rtmp" | "rtmps" if found < 2 => return Err(UrlFault::NoStream),
            "http" | "https" if found < 1 => return Err(UrlFault::NoPath),
            "http" | "https" => {
                if let Some(extension) = other_format(parts.path) {
                    return Err(UrlFault::NotFlv(extension));
                }
            }
            _ => {}
        }
        Ok(Self {
            text: text.to_owned(),
            source: text.parse()?,
        })
    }

    /// The address, taken apart, with its secrets.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.text.starts_with("rtmps://") || self.text.starts_with("https://")
    }
}

impl fmt::Display for PushUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = cut(&self.0);
        parts.fmt_server(f)?;
        // What the operator wrote out in the last segment is what platforms call the stream key.
        match parts.path.rsplit_once('/') {
            Some((app, last)) if !is_placeholder(last) => write!(f, "{app}/{HIDDEN}")?,
            _ => f.write_str(parts.path)?,
        }
        parts.fmt_query(f)
    }
}

impl fmt::Display for PullUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = cut(&self.text);
        parts.fmt_server(f)?;
        f.write_str(&pull::shown_path(parts.path))?;
        parts.fmt_query(f)
    }
}

impl fmt::Debug for PushUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for PullUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Parts<'_> {
    fn fmt_server(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.credentials.map_or("", |_| "***@");
        write!(f, "{}://{hidden}{}", self.scheme, self.host)
    }

    fn fmt_query(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.query {
            Some(_) => write!(f, "?{HIDDEN}"),
            None => Ok(()),
        }
    }
}

/// What to write instead, if it can be guessed.
pub(super) fn suggestion(fault: &UrlFault, schemes: &[&'static str]) -> Option<String> {
    if let UrlFault::NotFlv(extension) = fault {
        return Some(format!(
            "a server of this kind has it at `.{extension}.flv`; Icecast mounts cannot be pulled"
        ));
    }
    let (wrong, known): (_, Vec<_>) = match fault {
        UrlFault::Scheme(wrong) => (wrong, schemes.to_vec()),
        UrlFault::Placeholder(wrong) => (
            wrong,
            Placeholder::ALL.iter().map(|(word, _)| *word).collect(),
        ),
        _ => return None,
    };
    let word = nearest(wrong, known.into_iter())?;
    Some(match fault {
        UrlFault::Scheme(_) => format!("did you mean `{word}://`?"),
        _ => format!("did you mean `{{{word}}}`?"),
    })
}

/// Cuts an address and checks what the cutting shows.
fn parts<'a>(text: &'a str, schemes: &[&str]) -> Result<Parts<'a>, UrlFault> {
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
fn cut(text: &str) -> Parts<'_> {
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

/// Endings of addresses behind which there is no FLV.
const OTHER_FORMATS: [&str; 14] = [
    "aac", "m3u", "m3u8", "m4a", "mka", "mkv", "mp3", "mp4", "mpd", "ogg", "opus", "pls", "ts",
    "webm",
];

fn other_format(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    OTHER_FORMATS
        .into_iter()
        .find(|known| extension.eq_ignore_ascii_case(known))
}

fn segments(path: &str) -> usize {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .count()
}

/// Whether a segment is a placeholder and nothing else.
fn is_placeholder(segment: &str) -> bool {
    let word = segment
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    word.is_some_and(|word| !has_brace(word))
}

fn has_brace(text: &str) -> bool {
    text.contains(['{', '}'])
}

/// The stretches of a template.
fn pieces(text: &str) -> Result<Vec<Piece<'_>>, UrlFault> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (word, behind) = after.split_once('}').ok_or(UrlFault::Brace)?;
        if before.contains('}') || word.contains('{') {
            return Err(UrlFault::Brace);
        }
        let known = Placeholder::ALL.iter().find(|(known, _)| *known == word);
        let (_, placeholder) = known.ok_or_else(|| UrlFault::Placeholder(word.to_owned()))?;
        pieces.extend([Piece::Text(before), Piece::Stands(*placeholder)]);
        rest = behind;
    }
    if rest.contains('}') {
        return Err(UrlFault::Brace);
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// Puts a stream's name in. Names hold only characters that need no escape in a URL.
fn fill(template: &str, stream: &StreamName) -> String {
    let pieces = pieces(template).expect("a template was checked when it was read");
    pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Stands(placeholder) => placeholder.value(stream),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    #[test]
    fn placeholders_take_the_parts_of_a_name() {
        for (template, stream, expected) in [
            (
                "rtmp://h/relay/{stream}",
                "live/show",
                "rtmp://h/relay/live/show",
            ),
            ("rtmp://h/{stream}", "live/show", "rtmp://h/live/show"),
            ("rtmp://h/{app}/{name}", "live/a/b", "rtmp://h/live/a/b"),
            (
                "rtmps://h:443/x/{name}?k={app}",
                "live/b",
                "rtmps://h:443/x/b?k=live",
            ),
            (
                "rtmp://h/live2/abcd-efgh",
                "live/b",
                "rtmp://h/live2/abcd-efgh",
            ),
        ] {
            let url = PushUrl::parse(template).expect(template);
            assert_eq!(url.reveal(&name(stream)), expected);
        }
    }

    #[test]
    fn no_secret_is_shown() {
        for (url, shown) in [
            ("rtmp://u:SECRET@h/live/{name}", "rtmp://***@h/live/show"),
            ("rtmp://SECRET@h/live/{name}", "rtmp://***@h/live/show"),
            ("rtmp://h/live2/SECRET", "rtmp://h/live2/***"),
            ("rtmp://h/live2/{name}-SECRET", "rtmp://h/live2/***"),
            ("rtmp://h/live2/{app}SECRET{name}", "rtmp://h/live2/***"),
            ("rtmp://h/a/{stream}?key=SECRET", "rtmp://h/a/live/show?***"),
            ("rtmp://u:SECRET@x@h/a/{stream}", "rtmp://***@h/a/live/show"),
        ] {
            let url = PushUrl::parse(url).expect(url);
            assert_eq!(url.shown(&name("live/show")), shown);
            assert!(!format!("{url} {url:?}").contains("SECRET"));
        }
        for (url, shown) in [
            (
                "rtmp://u:SECRET@h:1936/live/show?token=SECRET",
                "rtmp://***@h:1936/live/***?***",
            ),
            (
                "https://u:SECRET@[::1]/live/SECRET.flv",
                "https://***@[::1]/live/***.flv",
            ),
            ("http://h/a/SECRET?SECRET", "http://h/a/***?***"),
        ] {
            let url = PullUrl::parse(url).expect(url);
            assert_eq!(format!("{url} {url:?}"), format!("{shown} {shown}"));
        }
    }

    #[test]
    fn what_is_no_address_is_told_by_its_fault() {
        use UrlFault::*;
        for (url, fault) in [
            ("", NoAddress),
            ("host/app/name", NoAddress),
            ("http://h/a/b", Scheme("http".into())),
            ("rtmpt://h/a/b", Scheme("rtmpt".into())),
            ("rtmp:///a/b", NoHost),
            ("rtmp://u:p@/a/b", NoHost),
            ("rtmp://::1/a/b", NoHost),
            ("rtmp://h:/a/b", Port),
            ("rtmp://h:0/a/b", Port),
            ("rtmp://h:70000/a/b", Port),
            ("rtmp://h", NoStream),
            ("rtmp://h/{name}", NoStream),
            ("rtmp://h//a", NoStream),
            ("rtmp://h/a/b c", Character),
            ("rtmp://h/a/{nmae}", Placeholder("nmae".into())),
            ("rtmp://h/a/{}", Placeholder(String::new())),
            ("rtmp://h/a/{name", Brace),
            ("rtmp://h/a/name}", Brace),
            ("rtmp://h/a/{{name}}", Brace),
            ("rtmp://h;i/a/b", Target(AddressError::HostCharacters)),
            ("rtmp://{name}/a/b", HostPlaceholder),
            ("rtmp://{name}@h/a/b", HostPlaceholder),
        ] {
            assert_eq!(PushUrl::parse(url), Err(fault), "{url}");
        }
        for (url, fault) in [
            ("http://h", NoPath),
            ("http://h/", NoPath),
            ("rtmp://h/a", NoStream),
            ("ftp://h/a", Scheme("ftp".into())),
            ("http://h^/a", Source(SourceError::Http)),
            ("rtmp://h/a/{name}", OneStream),
        ] {
            assert_eq!(PullUrl::parse(url), Err(fault), "{url}");
        }
        let long = format!("rtmp://h/a/{}", "b".repeat(URL_BYTES_MAX));
        assert_eq!(PushUrl::parse(&long), Err(TooLong));
    }
}
