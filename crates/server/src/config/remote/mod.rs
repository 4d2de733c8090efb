//! Addresses of other servers: where streams are pushed to and pulled from.
//!
//! Such an address is a secret in most of its parts: `user:password@`, the query, and what other
//! servers call a stream key, the last segment of the path. It is taken apart here only as far as
//! is needed to tell a slip and to show the rest; the parsers of those who connect have the last word.

mod parts;
mod pull;
mod push;
mod template;
#[cfg(test)]
mod tests;

use ingest::pull::SourceError;
use rtmp::client::AddressError;

pub use self::pull::{PullRule, PullUrl, Pulled};
pub use self::push::PushUrl;
use self::template::{PULLED, PUSHED, Words};
use super::setting::nearest;

/// What stands in for a part that is not shown.
const HIDDEN: &str = "***";

/// What is wrong with an address. It repeats none of it but a scheme or a placeholder.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum UrlFault {
    #[error("is no address of another server")]
    NoAddress,
    #[error("`{0}://` is not spoken here")]
    Scheme(String),
    #[error("names no host")]
    NoHost,
    #[error("has no valid port")]
    Port,
    #[error("names no stream; the path needs two segments at least")]
    NoStream,
    #[error("{0}")]
    Target(#[from] AddressError),
    #[error("{0}")]
    Source(#[from] SourceError),
    #[error("names nothing but a host")]
    NoPath,
    #[error("ends with `.{0}`, and over HTTP only FLV can be pulled")]
    NotFlv(&'static str),
    #[error("holds a blank, a control character or one beyond ASCII; write those as %20 and so on")]
    Character,
    #[error("is longer than 2048 bytes")]
    TooLong,
    #[error("holds `{{{0}}}`, which stands for nothing")]
    Placeholder(String),
    #[error("holds a `{{` or `}}` without the other")]
    Brace,
    #[error("lets the stream's name choose the server; placeholders belong behind the host")]
    HostPlaceholder,
}

impl PushUrl {
    /// What to write instead, if it can be guessed.
    pub(super) fn suggestion(fault: &UrlFault) -> Option<String> {
        suggestion(fault, &Self::SCHEMES, PUSHED)
    }
}

impl PullUrl {
    /// What to write instead, if it can be guessed.
    pub(super) fn suggestion(fault: &UrlFault) -> Option<String> {
        suggestion(fault, &Self::SCHEMES, PULLED)
    }
}

fn suggestion(fault: &UrlFault, schemes: &[&'static str], words: &Words) -> Option<String> {
    if let UrlFault::NotFlv(extension) = fault {
        return Some(format!(
            "a server of this kind has it at `.{extension}.flv`; Icecast mounts cannot be pulled"
        ));
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
