//! Choice of the streams that are encrypted over HLS, and of the packagings that remain for them.
//!
//! An encrypted stream has one packaging, [`Packaging::Encrypted`]; any other stream has all but that one. So a viewer
//! cannot obtain in clear a stream that an operator wants encrypted, whatever it requests. Keys, like everything else,
//! are for viewers that have passed the gate.

use std::time::Duration;

use fanout::Info;
use media::StreamName;

use crate::answer::Refused;
use crate::packaging::Packaging;
use crate::reload::Directives;
use crate::{Context, Request, Resource};

/// Predicate for streams that are encrypted.
pub type Applies = Box<dyn Fn(&StreamName) -> bool + Send + Sync>;

/// Operator's settings of encryption.
pub struct Settings {
    /// Secret that all keys are derived from. It must be as hard to guess as a key.
    pub secret: Vec<u8>,
    /// Time for which one key is used.
    pub key_period: Duration,
    /// Streams that are encrypted; the result must not change for a stream that is live.
    pub applies: Applies,
}

base::debug!(Settings { key_period });

/// Returns the packaging that a request names; `None` for the usual one.
///
/// # Errors
/// If the stream does not have that packaging, because the stream is encrypted or because it is not.
pub(crate) fn named(
    context: &Context,
    request: &Request<'_>,
    directives: &Directives,
) -> Result<Option<Packaging>, Refused> {
    let is_encrypted = (context.is_encrypted)(request.stream);
    match request.resource {
        Resource::Multivariant if is_encrypted => Ok(Some(Packaging::Encrypted)),
        Resource::Multivariant => Ok(directives.packaging),
        Resource::Media(Packaging::Encrypted, _) if !is_encrypted => Err(Refused::NoSuchPiece),
        Resource::Media(packaging, _) if is_encrypted && *packaging != Packaging::Encrypted => {
            Err(Refused::Encrypted)
        }
        Resource::Media(packaging, _) => Ok(Some(*packaging)),
    }
}

/// Returns the packaging that the multivariant playlist names for a stream.
pub(crate) fn of_stream(context: &Context, info: &Info, directives: &Directives) -> Packaging {
    match directives.packaging {
        _ if (context.is_encrypted)(&info.name) => Packaging::Encrypted,
        Some(packaging) => packaging,
        None => Packaging::usual(info),
    }
}
