//! Sources and streams of pulls.

use std::fmt;

use http::uri::PathAndQuery;
use media::StreamName;
use net::url::{Url, last_segment, shown_path};

use super::template::{Named, PULLED, Placeholder, Template, is_placeholder};
use super::{UrlFault, segments};
use media::Glob;

/// Address that streams are pulled from: `rtmp://`, `rtmps://`, `http://` or `https://`. The last two name an FLV stream, or a
/// mount of an Icecast or SHOUTcast server. Path and query may contain `{stream}`, `{app}`, `{name}` and `{rest}` if one
/// address is for many streams. It is displayed without its secrets.
#[derive(Clone, Eq, PartialEq)]
pub struct PullUrl(Template);

/// Streams that a pull brings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Pulled {
    /// One stream.
    One(StreamName),
    /// All streams whose names fit, each by its own connection.
    Fitting(Glob),
}

/// One `[[pull]]`: a stream that is fetched from another server, or many of one pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PullRule {
    /// Name of the stream here, or pattern of the names.
    pub stream: Pulled,
    /// Address to pull from.
    pub url: PullUrl,
    /// Addresses to pull from while that one fails, in this order.
    pub alternates: Vec<PullUrl>,
    /// Whether streams are pulled only while they have listeners.
    pub on_demand: bool,
    /// Key of the rule in reports: `pull.0`, `pull.1`, ….
    pub(crate) key: String,
}

impl Pulled {
    /// Whether a stream of that name is pulled.
    pub fn matches(&self, stream: &StreamName) -> bool {
        match self {
            Self::One(name) => name == stream,
            Self::Fitting(pattern) => pattern.matches(stream.as_str()),
        }
    }

    /// Returns the part of a stream's name after the fixed part of the pattern; the whole name if the rule has no pattern.
    fn rest<'a>(&self, stream: &'a StreamName) -> &'a str {
        let front = match self {
            Self::One(_) => "",
            Self::Fitting(pattern) => pattern.front(),
        };
        stream.as_str().strip_prefix(front).unwrap_or_default()
    }
}

impl PullRule {
    /// Returns the URLs of a stream of the rule, with their secrets; empty if its name lacks a part that all addresses need.
    ///
    /// A name changes only the placeholders of an address: it contains no `..`, no empty segment, and none of the characters
    /// that separate the parts of a URL; and placeholders occur in path and query only.
    pub fn sources(&self, stream: &StreamName) -> Vec<Url> {
        let name = self.named(stream);
        let urls = std::iter::once(&self.url).chain(&self.alternates);
        urls.filter_map(|url| url.filled(name)).collect()
    }

    /// Returns the first address of a stream, without its secrets.
    pub fn shown(&self, stream: &StreamName) -> String {
        let shown = self.url.to_string();
        self.url.0.shown(&shown, self.named(stream))
    }

    /// Whether a name is the end of the first address, so that mounts such as `radio.mp3` are requested unchanged. An address
    /// that continues after the name, such as by `.flv`, shows the format of its streams.
    pub fn brings_mounts(&self) -> bool {
        let url = self.url.0.url();
        is_http(url) && url.path().ends_with('}')
    }

    fn named<'a>(&self, stream: &'a StreamName) -> Named<'a> {
        let rest = self.stream.rest(stream);
        Named { stream, rest }
    }
}

impl PullUrl {
    pub(crate) const SCHEMES: [&str; 4] = ["rtmp", "rtmps", "http", "https"];

    /// Returns the address of one stream; `None` if its name lacks a part.
    fn filled(&self, name: Named<'_>) -> Option<Url> {
        let template = &self.0;
        if template.wants_more(name) {
            return None;
        }
        let url = template.filled(name).ok()?;
        let is_complete = is_http(&url) || segments(url.path()) >= 2;
        is_complete.then_some(url)
    }

    /// Parses an address.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlFault> {
        let template = Template::parse(text, &Self::SCHEMES, PULLED)?;
        let may_be_many = [Placeholder::Stream, Placeholder::Rest]
            .into_iter()
            .any(|many| template.has_in_path(many));
        let path = template.url().path();
        match (is_http(template.url()), segments(path)) {
            // A name with too few segments is detected when it is pulled.
            (false, 0 | 1) if !may_be_many => return Err(UrlFault::NoStream),
            (false, _) => return Ok(Self(template)),
            (true, 0) => return Err(UrlFault::NoPath),
            (true, _) => {}
        }
        if let Some(extension) = other_format(path) {
            return Err(UrlFault::NoLiveBody(extension));
        }
        let example = StreamName::parse("live/show/today").expect("a name");
        let target = template.filled(Named::example(&example))?.target();
        match target.parse::<PathAndQuery>() {
            Ok(_) => Ok(Self(template)),
            Err(_) => Err(UrlFault::Target),
        }
    }

    /// Whether different streams have different addresses.
    pub(crate) fn is_template(&self) -> bool {
        self.0.has_any()
    }

    /// Whether the address depends on the pattern, and not on the name alone.
    pub(crate) fn has_rest(&self) -> bool {
        self.0.has(Placeholder::Rest)
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.url().is_secure()
    }
}

impl fmt::Display for PullUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.0.url();
        let (_, last, _) = last_segment(url.path());
        // A placeholder is not a key.
        match is_placeholder(last.strip_suffix(".flv").unwrap_or(last)) {
            true => url.fmt_with_path(url.path(), f),
            false => url.fmt_with_path(&shown_path(url.path()), f),
        }
    }
}

impl fmt::Debug for PullUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Extensions of resources that are not a live body: playlists, and containers that cannot be read over HTTP.
const OTHER_FORMATS: [&str; 10] = [
    "m3u", "m3u8", "m4a", "mka", "mkv", "mp4", "mpd", "pls", "ts", "xspf",
];

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

fn other_format(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    OTHER_FORMATS
        .into_iter()
        .find(|known| extension.eq_ignore_ascii_case(known))
}
