//! Where streams are pushed to.

use std::fmt;

use media::StreamName;
use rtmp::client::Address;

use super::parts::{cut, parts, segments};
use super::template::{Named, PUSHED, Piece, Placeholder, fill, has_brace, is_placeholder, pieces};
use super::{HIDDEN, UrlFault};

/// Where streams are pushed to: `rtmp://` or `rtmps://`, with `{stream}`, `{app}` and `{name}` in
/// its path or query. It shows itself without its secrets.
#[derive(Clone, Eq, PartialEq)]
pub struct PushUrl(String);

impl PushUrl {
    pub(in crate::config) const SCHEMES: [&str; 2] = ["rtmp", "rtmps"];

    /// Accepts an address, or says what is wrong with it.
    pub(in crate::config) fn parse(text: &str) -> Result<Self, UrlFault> {
        let parts = parts(text, &Self::SCHEMES)?;
        let pieces = pieces(text, PUSHED)?;
        if has_brace(parts.host) || parts.credentials.is_some_and(has_brace) {
            return Err(UrlFault::HostPlaceholder);
        }
        // `{stream}` alone is enough where every name has two segments; a name that has one is found
        // out when it is pushed.
        let names_both = pieces.contains(&Piece::Stands(Placeholder::Stream));
        if !names_both && segments(parts.path) < 2 {
            return Err(UrlFault::NoStream);
        }
        let url = Self(text.to_owned());
        let example = StreamName::parse("live/show").expect("a name");
        url.reveal(&example).parse::<Address>()?;
        Ok(url)
    }

    /// The address for a stream, with its secrets.
    pub fn reveal(&self, stream: &StreamName) -> String {
        fill(&self.0, PUSHED, Named { stream, rest: "" })
    }

    /// The address for a stream, without its secrets.
    pub fn shown(&self, stream: &StreamName) -> String {
        fill(&self.to_string(), PUSHED, Named { stream, rest: "" })
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("rtmps://")
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

impl fmt::Debug for PushUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
