//! Addresses of other servers that streams are pushed to and pulled from.
//!
//! Such an address is a URL whose path and query may contain placeholders. Most of its parts are secret: `user:password@`, the
//! query, and the last segment of the path, which other servers call a stream key. When displayed, the address has `***` in
//! their place.
//!
//! A placeholder changes path and query only, so no stream name can choose another server.

mod pull;
mod push;
mod template;
#[cfg(test)]
mod tests;

use net::url::UrlError;

pub use self::pull::{PullRule, PullUrl, Pulled};
pub use self::push::PushUrl;
use self::template::{PULLED, PUSHED, Words};
use super::setting::nearest;

/// Fault of an address. Its text repeats nothing of the address except a scheme, a placeholder, or one character of the host.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum UrlFault {
    #[error("{0}")]
    Malformed(#[from] UrlError),
    #[error("`{0}://` is not spoken here")]
    Scheme(String),
    #[error("names no stream; the path needs two segments at least")]
    NoStream,
    #[error("names nothing but a host")]
    NoPath,
    #[error("ends with `.{0}`; over HTTP only FLV and radio streams can be pulled")]
    NoLiveBody(&'static str),
    #[error(
        "has a character in its path or query that HTTP does not allow; write it as %60 and so on"
    )]
    Target,
    #[error("holds `{{{0}}}`, which stands for nothing")]
    Placeholder(String),
    #[error("holds a `{{` or `}}` without the other")]
    Brace,
    #[error("lets the stream's name choose the server; placeholders belong behind the host")]
    HostPlaceholder,
}

impl PushUrl {
    /// Returns advice on what to write instead, if it can be guessed.
    pub(super) fn suggestion(fault: &UrlFault) -> Option<String> {
        suggestion(fault, &Self::SCHEMES, PUSHED)
    }
}

impl PullUrl {
    /// Returns advice on what to write instead, if it can be guessed.
    pub(super) fn suggestion(fault: &UrlFault) -> Option<String> {
        suggestion(fault, &Self::SCHEMES, PULLED)
    }
}

fn suggestion(fault: &UrlFault, schemes: &[&'static str], words: &Words) -> Option<String> {
    if let UrlFault::NoLiveBody(extension) = fault {
        return Some(match extension {
            &"m3u" | &"pls" | &"xspf" => "give the address that is in the playlist".to_owned(),
            _ => format!("a server of this kind has it at `.{extension}.flv`"),
        });
    }
    let (wrong, known): (_, Vec<_>) = match fault {
        UrlFault::Scheme(wrong) => (wrong, schemes.to_vec()),
        UrlFault::Placeholder(wrong) => (wrong, words.iter().map(|(word, _)| *word).collect()),
        _ => return None,
    };
    let word = nearest(wrong, known.into_iter())?;
    Some(match fault {
        UrlFault::Scheme(_) => format!("did you mean `{word}://`?"),
        _ => format!("did you mean `{{{word}}}`?"),
    })
}

/// Counts the non-empty segments of a path.
fn segments(path: &str) -> usize {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .count()
}
