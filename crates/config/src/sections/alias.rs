//! `[[alias]]`: further paths of a stream.

use media::StreamName;

use crate::read::Section;

/// One `[[alias]]`: a path at which listeners find a stream of another name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AliasRule {
    /// The path, as the name of a stream: without its first slash.
    pub path: StreamName,
    /// What is found there.
    pub stream: StreamName,
    /// `alias.0`, `alias.1`, …, for problems with it.
    pub(crate) key: String,
}

impl AliasRule {
    /// Reads one; `None` when it does not say what is found where.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let mut path = None::<String>;
        let mut stream = None;
        s.set_some("path", &mut path);
        s.set_some("stream", &mut stream);
        if path.is_none() {
            s.missing("path", "say where it is found, such as path = \"/old\"");
        }
        if stream.is_none() {
            s.missing(
                "stream",
                "say what is found there, such as stream = \"new.mp3\"",
            );
        }
        let path = path?;
        let name = path.strip_prefix('/').map(StreamName::parse);
        let name = name.and_then(Result::ok).filter(|name| !name.is_reserved());
        s.require(
            "path",
            name.is_some(),
            "is not the path that a stream could have, such as \"/old\"",
        );
        let key = s.path();
        Some(Self {
            path: name?,
            stream: stream?,
            key,
        })
    }
}
