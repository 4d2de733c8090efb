//! What a source says of itself and of its stream in the head of its request.
//!
//! Invariant: of all of it, no more is kept than the bounds here; a stream has it in memory for as
//! long as it is there, its log lines and its listeners' replies repeat it.

use http1::Head;

/// Longest name of a program, and longest media type. Those of real sources have a fifth of that.
const WORD_BYTES_MAX: usize = 256;

/// Headers kept about the stream; Icecast knows a dozen, and listeners get no more than these.
const HEADERS_MAX: usize = 32;

/// Longest name of such a header. A longer one is nobody's, so its header is left out.
const HEADER_NAME_BYTES_MAX: usize = 64;

/// Longest value of such a header: a few sentences of description.
const HEADER_VALUE_BYTES_MAX: usize = 512;

/// Where the first sources of Icecast 2 had their password.
pub(super) const PASSWORD: &str = "ice-password";

/// What the program calls itself; empty when it does not.
pub(super) fn agent(head: &Head) -> &str {
    cut(
        head.header("user-agent").unwrap_or_default(),
        WORD_BYTES_MAX,
    )
}

/// What the body is said to be; empty when nothing is said.
pub(super) fn content_type(head: &Head) -> &str {
    cut(
        head.header("content-type").unwrap_or_default(),
        WORD_BYTES_MAX,
    )
}

/// The headers about the stream, for its listeners. The oldest kind is renamed to Icecast's.
pub(super) fn headers(head: &Head) -> Vec<(String, String)> {
    head.headers()
        .filter(|(name, _)| name.len() <= HEADER_NAME_BYTES_MAX)
        .filter_map(|(name, value)| {
            // What `SOURCE` of old carries there is nobody else's business.
            if name == PASSWORD {
                return None;
            }
            let name = if let Some(suffix) = name.strip_prefix("x-audiocast-") {
                format!("ice-{suffix}")
            } else if name.starts_with("ice-")
                // ffmpeg asks for titles even when it is the one who sends.
                || name.starts_with("icy-") && name != "icy-metadata"
            {
                name.to_owned()
            } else {
                return None;
            };
            Some((name, cut(value, HEADER_VALUE_BYTES_MAX).to_owned()))
        })
        .take(HEADERS_MAX)
        .collect()
}

/// At most `bytes_max` of the front of `text`, whole characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
