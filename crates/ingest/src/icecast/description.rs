//! What a source says about itself and its stream in the head of its request.
//!
//! Invariant: no more is kept than the bounds here allow. A stream holds it in memory for its whole
//! life, and its log lines and its listeners' replies repeat it.

use http1::Head;

/// Longest name of a program, and longest media type. Those of real sources are a fifth of that.
const WORD_BYTES_MAX: usize = 256;

/// Headers kept about the stream; Icecast knows a dozen, and listeners get no more than these.
const HEADERS_MAX: usize = 32;

/// Longest name of such a header. No known source sends a longer one; it is left out.
const HEADER_NAME_BYTES_MAX: usize = 64;

/// Longest value of such a header: a few sentences of description.
const HEADER_VALUE_BYTES_MAX: usize = 512;

/// Headers that are about the connection they come on: ffmpeg asks for titles even when it is the sender, and a server that is
/// relayed says how it sends them, and who made it.
const OF_THE_CONNECTION: [&str; 4] = ["icy-metadata", "icy-metaint", "icy-notice1", "icy-notice2"];

/// The header in which the first sources of Icecast 2 sent their password.
pub(super) const PASSWORD: &str = "ice-password";

/// A word of a head, such as a media type, cut to its bound.
pub(crate) fn word(text: &str) -> &str {
    cut(text, WORD_BYTES_MAX)
}

/// What the program calls itself; empty when it does not.
pub(super) fn agent(head: &Head) -> &str {
    word(head.header("user-agent").unwrap_or_default())
}

/// The declared media type of the body; empty when none is declared.
pub(super) fn content_type(head: &Head) -> &str {
    word(head.header("content-type").unwrap_or_default())
}

/// The headers about the stream, for its listeners. The oldest kind is renamed to Icecast's.
pub(crate) fn headers<'a, V: AsRef<str>>(
    headers: impl Iterator<Item = (&'a str, V)>,
) -> Vec<(String, String)> {
    headers
        .filter(|(name, _)| name.len() <= HEADER_NAME_BYTES_MAX)
        .filter_map(|(name, value)| {
            // It holds a secret: listeners must not get it.
            if name == PASSWORD {
                return None;
            }
            let name = if let Some(suffix) = name.strip_prefix("x-audiocast-") {
                format!("ice-{suffix}")
            } else if name.starts_with("ice-")
                || name.starts_with("icy-") && !OF_THE_CONNECTION.contains(&name)
            {
                name.to_owned()
            } else {
                return None;
            };
            Some((name, cut(value.as_ref(), HEADER_VALUE_BYTES_MAX).to_owned()))
        })
        .take(HEADERS_MAX)
        .collect()
}

/// At most the first `bytes_max` bytes of `text`, in whole characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
