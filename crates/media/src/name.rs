//! Names of streams.
//!
//! Names arrive from peers in URLs and in RTMP commands, and are written to logs, pages, metrics
//! and file paths. [`StreamName::parse`] is the only constructor, so no later code meets a name
//! that could be mistaken for anything else.
//!
//! A stream that carries the same programme in another size is a *rendition*: its name is the stream's own,
//! `~`, and a label, as in `live/show~low`. [`StreamName::rendition`] and [`StreamName::parent`] are the only
//! code that knows this form.

use std::borrow::Borrow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Longest name, in bytes: the limit of file systems for one component.
const NAME_BYTES_MAX: usize = 255;

/// Longest label of a rendition, in bytes: room for an `rid` of WebRTC, which peers keep short, or for a word.
const LABEL_BYTES_MAX: usize = 32;

/// Separator of a rendition's label from the name of its stream.
const LABEL_MARK: char = '~';

/// First segments of names that would hide the server's own pages.
const RESERVED: [&str; 16] = [
    "7.html",
    "_",
    "admin",
    "admin.cgi",
    "api",
    "carillon.js",
    "currentsong",
    "embed",
    "favicon.ico",
    "played",
    "played.html",
    "server_version.xsl",
    "statistics",
    "stats",
    "status-json.xsl",
    "status.xsl",
];

/// Name of a stream: segments of `[A-Za-z0-9._~-]` joined by `/`, such as `live/show` or `radio.mp3`. Cheap to clone.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StreamName(Arc<str>);

/// Reasons why a text is not a stream's name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NameError {
    /// The name, or a segment of it, is empty.
    Empty,
    /// The name is longer than 255 bytes.
    TooLong,
    /// A segment is `.` or `..`.
    Dots,
    /// The name holds a character outside `[A-Za-z0-9._~-]`.
    Character,
}

impl StreamName {
    /// Parses a name or the path of a URL, already percent-decoded, with or without its leading `/`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let name = text.strip_prefix('/').unwrap_or(text);
        if name.len() > NAME_BYTES_MAX {
            return Err(NameError::TooLong);
        }
        for segment in name.split('/') {
            match segment {
                "" => return Err(NameError::Empty),
                "." | ".." => return Err(NameError::Dots),
                _ if !segment.bytes().all(is_name_byte) => return Err(NameError::Character),
                _ => {}
            }
        }
        Ok(Self(name.into()))
    }

    /// Returns the name, without a leading `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name begins as the server's own pages do. Such a stream cannot be published.
    pub fn is_reserved(&self) -> bool {
        let first = self.0.split('/').next();
        first.is_some_and(|first| RESERVED.contains(&first))
    }

    /// Returns the name of the stream's rendition with this label, such as `live/show~low`. Returns `None` if the label
    /// is not 1 to 32 characters of `[A-Za-z0-9.-]`, or if the name would be longer than 255 bytes.
    pub fn rendition(&self, label: &str) -> Option<Self> {
        if !is_label(label) {
            return None;
        }
        Self::parse(&format!("{self}{LABEL_MARK}{label}")).ok()
    }

    /// Returns the name of the stream that this one is a rendition of: the part before the last `~` of the last
    /// segment, if a label follows it. Returns `None` for all other names, also for those with nothing before the `~`
    /// (`~home`, `live/~home`).
    pub fn parent(&self) -> Option<Self> {
        let (parent, label) = self.0.rsplit_once(LABEL_MARK)?;
        // A label has no `/`, so this `~` is in the last segment. The rest of that segment may be empty.
        if !is_label(label) {
            return None;
        }
        Self::parse(parent).ok()
    }

    /// Iterates over the name, its [`parent`](Self::parent), and so on: rules for a stream hold for its renditions.
    /// Names have a bounded number of labels.
    pub fn with_parents(&self) -> impl Iterator<Item = Self> + use<> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    /// Whether `parent` is its [`parent`](Self::parent).
    pub fn is_rendition_of(&self, parent: &Self) -> bool {
        let rest = self.0.strip_prefix(parent.as_str());
        let label = rest.and_then(|rest| rest.strip_prefix(LABEL_MARK));
        label.is_some_and(is_label)
    }
}

/// Whether the text is a label of a rendition: 1 to 32 characters of `[A-Za-z0-9.-]`.
fn is_label(text: &str) -> bool {
    let byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    (1..=LABEL_BYTES_MAX).contains(&text.len()) && text.bytes().all(byte)
}

/// Whether a byte is an unreserved character of RFC 3986 §2.3, which needs no escaping anywhere in a URL.
const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'~' | b'-')
}

impl AsRef<str> for StreamName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for StreamName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "a stream name has no empty segments",
            Self::TooLong => "a stream name has at most 255 bytes",
            Self::Dots => "a stream name has no `.` or `..` segments",
            Self::Character => "a stream name consists of A-Z a-z 0-9 . _ ~ - and /",
        })
    }
}

impl Error for NameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_are_the_same_stream() {
        for (text, expected) in [
            ("/live/show", "live/show"),
            ("live/show", "live/show"),
            ("/radio.mp3", "radio.mp3"),
            ("~a-b_c.d/..e", "~a-b_c.d/..e"),
        ] {
            assert_eq!(name(text).to_string(), expected);
        }
    }

    #[test]
    fn the_servers_own_pages_are_reserved() {
        let reserved = "admin admin/stats status-json.xsl 7.html _/player.js admin.cgi api/v1 \
                        carillon.js currentsong embed/live/show favicon.ico played played.html \
                        server_version.xsl statistics stats/x status.xsl";
        for text in reserved.split(' ') {
            assert!(name(text).is_reserved(), "{text}");
        }
        for text in ["live/admin", "administrator"] {
            assert!(!name(text).is_reserved(), "{text}");
        }
    }

    #[test]
    fn what_could_be_mistaken_is_refused() {
        for (text, error) in [
            ("", NameError::Empty),
            ("/", NameError::Empty),
            ("//a", NameError::Empty),
            ("a/", NameError::Empty),
            ("a//b", NameError::Empty),
            ("..", NameError::Dots),
            ("/a/../b", NameError::Dots),
            ("a/./b", NameError::Dots),
            ("a b", NameError::Character),
            ("a\0", NameError::Character),
            ("a\\b", NameError::Character),
            ("a%2e", NameError::Character),
            ("björk", NameError::Character),
            ("<script>", NameError::Character),
        ] {
            assert_eq!(StreamName::parse(text), Err(error), "{text:?}");
        }
        assert_eq!(StreamName::parse(&"a".repeat(256)), Err(NameError::TooLong));
        assert!(StreamName::parse(&"a".repeat(255)).is_ok());
    }

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    #[test]
    fn a_rendition_knows_the_stream_it_belongs_to() {
        for (stream, label) in [
            ("live/show", "1"),
            ("show", "low"),
            ("radio.mp3", "64-kbit.s"),
            ("~home/show", "m"),
            ("~home", "m"),
            ("live/show~low", "1"),
        ] {
            let rendition = name(stream).rendition(label).expect("a rendition");
            assert_eq!(rendition.as_str(), format!("{stream}~{label}"));
            assert_eq!(rendition.parent(), Some(name(stream)));
            assert!(rendition.is_rendition_of(&name(stream)));
            assert!(!rendition.is_rendition_of(&rendition));
        }
    }

    #[test]
    fn a_label_is_short_and_plain() {
        let show = name("live/show");
        for label in ["", "a~b", "a_b", "a/b", "a b", "ä", &"a".repeat(33)] {
            assert_eq!(show.rendition(label), None, "{label:?}");
        }
        assert!(show.rendition(&"a".repeat(32)).is_some());
        let long = name(&"a".repeat(253));
        assert!(long.rendition("1").is_some());
        assert_eq!(long.rendition("12"), None);
    }

    #[test]
    fn other_names_have_no_parent() {
        let others = "live/show show ~home live/~home live~1/show live/show~ live/show~a_b \
                      live/..~1 .~1 ~";
        for text in others.split(' ') {
            assert_eq!(name(text).parent(), None, "{text}");
        }
        let long = format!("show~{}", "a".repeat(33));
        assert_eq!(name(&long).parent(), None);
    }
}
