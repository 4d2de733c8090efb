//! Where streams are pulled from, and which.

use std::fmt;

use ingest::pull::{self, Source};
use media::StreamName;

use super::UrlFault;
use super::parts::{cut, parts, segments};
use super::template::{
    Named, PULLED, Piece, Placeholder, fill, has_brace, is_placeholder, pieces, wants_more,
};
use crate::config::Glob;

/// Where streams are pulled from: `rtmp://`, `rtmps://`, `http://` or `https://`, of which the last
/// two name an FLV stream; with `{stream}`, `{app}`, `{name}` and `{rest}` in its path or query where one
/// address is for many streams. It shows itself without its secrets.
#[derive(Clone, Eq, PartialEq)]
pub struct PullUrl(String);

/// Which streams a pull brings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Pulled {
    /// This one.
    One(StreamName),
    /// Those whose names fit, each by a connection of its own.
    Fitting(Glob),
}

/// One `[[pull]]`: a stream that is fetched from another server, or many of one pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PullRule {
    /// What is called so here.
    pub stream: Pulled,
    /// Where from.
    pub url: PullUrl,
    /// Only while somebody listens.
    pub on_demand: bool,
    /// `pull.0`, `pull.1`, …, for problems with it.
    pub(in crate::config) key: String,
}

impl Pulled {
    /// Whether a stream of that name is meant.
    pub fn matches(&self, stream: &StreamName) -> bool {
        match self {
            Self::One(name) => name == stream,
            Self::Fitting(pattern) => pattern.matches(stream.as_str()),
        }
    }

    /// What of a name follows the fixed part of the pattern, and all of a name that is no pattern.
    fn rest<'a>(&self, stream: &'a StreamName) -> &'a str {
        let front = match self {
            Self::One(_) => "",
            Self::Fitting(pattern) => pattern.front(),
        };
        stream.as_str().strip_prefix(front).unwrap_or_default()
    }
}

impl PullRule {
    /// Where a stream of the rule is, with its secrets; `None` when its name has not the parts that the address
    /// needs.
    ///
    /// A name changes nothing of the address but what stands in the placeholders' stead: it holds no `..`, no
    /// empty segment, and none of the characters that part an address, and none stands before the path.
    pub fn source(&self, stream: &StreamName) -> Option<Source> {
        let name = self.named(stream);
        if wants_more(&self.url.0, PULLED, name) {
            return None;
        }
        fill(&self.url.0, PULLED, name).parse().ok()
    }

    /// The same, without its secrets.
    pub fn shown(&self, stream: &StreamName) -> String {
        fill(&self.url.to_string(), PULLED, self.named(stream))
    }

    fn named<'a>(&self, stream: &'a StreamName) -> Named<'a> {
        let rest = self.stream.rest(stream);
        Named { stream, rest }
    }
}

impl PullUrl {
    pub(in crate::config) const SCHEMES: [&str; 4] = ["rtmp", "rtmps", "http", "https"];

    /// Accepts an address, or says what is wrong with it.
    pub(in crate::config) fn parse(text: &str) -> Result<Self, UrlFault> {
        let parts = parts(text, &Self::SCHEMES)?;
        let pieces = pieces(text, PULLED)?;
        if has_brace(parts.host) || parts.credentials.is_some_and(has_brace) {
            return Err(UrlFault::HostPlaceholder);
        }
        let may_be_many = [Placeholder::Stream, Placeholder::Rest]
            .into_iter()
            .any(|many| pieces.contains(&Piece::Stands(many)));
        let found = segments(parts.path);
        match parts.scheme {
            // A name with too few is found out when it is pulled.
            "rtmp" | "rtmps" if found < 2 && !may_be_many => return Err(UrlFault::NoStream),
            "http" | "https" if found < 1 => return Err(UrlFault::NoPath),
            "http" | "https" => {
                if let Some(extension) = other_format(parts.path) {
                    return Err(UrlFault::NotFlv(extension));
                }
            }
            _ => {}
        }
        let example = StreamName::parse("live/show/today").expect("a name");
        fill(text, PULLED, Named::example(&example)).parse::<Source>()?;
        Ok(Self(text.to_owned()))
    }

    /// Whether it tells streams apart.
    pub(in crate::config) fn is_template(&self) -> bool {
        has_brace(&self.0)
    }

    /// Whether it depends on the pattern, and not on the name alone.
    pub(in crate::config) fn has_rest(&self) -> bool {
        let pieces = pieces(&self.0, PULLED);
        pieces.is_ok_and(|pieces| pieces.contains(&Piece::Stands(Placeholder::Rest)))
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("rtmps://") || self.0.starts_with("https://")
    }
}

impl fmt::Display for PullUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = cut(&self.0);
        parts.fmt_server(f)?;
        // What stands in for a name is no key.
        let last = parts.path.rsplit('/').next().unwrap_or_default();
        match is_placeholder(last.strip_suffix(".flv").unwrap_or(last)) {
            true => f.write_str(parts.path)?,
            false => f.write_str(&pull::shown_path(parts.path))?,
        }
        parts.fmt_query(f)
    }
}

impl fmt::Debug for PullUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
