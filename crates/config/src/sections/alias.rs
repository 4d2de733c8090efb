//! `[[alias]]`: further paths of a stream.

use media::StreamName;

use crate::read::Section;

/// Longest path, in bytes; the same limit as for a stream's name.
const PATH_BYTES_MAX: usize = 255;

/// One `[[alias]]`: a path at which listeners find a stream of another name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AliasRule {
    /// Path, percent-decoded, without its first slash. It need not be a possible stream name, but must not be one of the
    /// server's own paths.
    pub path: String,
    /// Stream that is played at the path.
    pub stream: StreamName,
    /// Key of the rule in reports: `alias.0`, `alias.1`, ….
    pub(crate) key: String,
}

impl AliasRule {
    /// Reads one rule; `None` if its path or its stream is missing.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say where it is found, such as path = \"/old\"";
        let path = s.needed::<String>("path", help);
        let help = "say what is found there, such as stream = \"new.mp3\"";
        let stream = s.needed("stream", help);
        let path = path?;
        let is_text =
            |path: &&str| path.len() <= PATH_BYTES_MAX && !path.contains(char::is_control);
        let path = path.strip_prefix('/').filter(is_text);
        let path = path.filter(|path| !is_own(path));
        s.require(
            "path",
            path.is_some(),
            "is no path that could be another one of a stream, such as \"/old\"",
        );
        Some(Self {
            path: path?.to_owned(),
            stream: stream?,
            key: s.path(),
        })
    }
}

/// Whether a path is below one of the server's own.
fn is_own(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    StreamName::parse(first).is_ok_and(|name| name.is_reserved())
}
