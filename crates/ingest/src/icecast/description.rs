//! A source's description of itself and its stream in the head of its request.
//!
//! Invariant: no more is kept than the bounds here allow. A stream keeps the description in memory for its
//! whole life, and its log lines and its listeners' replies repeat it.

use http1::Head;

/// Longest name of a program and longest media type, in bytes. Those of real sources take a fifth of that.
const WORD_BYTES_MAX: usize = 256;

/// Most headers kept about the stream. Icecast knows a dozen, and listeners receive no more than these.
const HEADERS_MAX: usize = 32;

/// Longest name of such a header, in bytes; a header with a longer name is left out. No known source sends
/// one.
const HEADER_NAME_BYTES_MAX: usize = 64;

/// Longest value of such a header, in bytes: a few sentences of description.
const HEADER_VALUE_BYTES_MAX: usize = 512;

/// Headers that describe only the connection they arrive on: ffmpeg requests titles even when it is the
/// sender, and a relayed server states how it sends titles and who made it.
const OF_THE_CONNECTION: [&str; 4] = ["icy-metadata", "icy-metaint", "icy-notice1", "icy-notice2"];

/// Header in which the first sources of Icecast 2 sent their password.
pub(super) const PASSWORD: &str = "ice-password";

/// Returns a word of a head, such as a media type, cut to its bound.
pub(crate) fn word(text: &str) -> &str {
    cut(text, WORD_BYTES_MAX)
}

/// Returns the program's name for itself; empty when it sends none.
pub(super) fn agent(head: &Head) -> &str {
    word(head.header("user-agent").unwrap_or_default())
}

/// Returns the declared media type of the body; empty when none is declared.
pub(super) fn content_type(head: &Head) -> &str {
    word(head.header("content-type").unwrap_or_default())
}

/// Returns the headers about the stream, for its listeners. Headers of the oldest kind are renamed to
/// Icecast's.
pub(crate) fn headers<'a, V: AsRef<str>>(
    headers: impl Iterator<Item = (&'a str, V)>,
) -> Vec<(String, String)> {
    headers
        .filter(|(name, _)| name.len() <= HEADER_NAME_BYTES_MAX)
        .filter_map(|(name, value)| {
            // This header holds a secret: listeners must not receive it.
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

/// Returns at most the first `bytes_max` bytes of `text`, in whole characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
