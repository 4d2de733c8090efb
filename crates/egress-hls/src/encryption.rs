//! Which streams are encrypted over HLS, and what that leaves of their addresses.
//!
//! Of a stream that is encrypted there is one packaging, [`Packaging::Encrypted`]; of any other, all but that one. So a
//! viewer cannot have in clear what an operator wants encrypted, whatever it asks for. Keys are for viewers that have
//! passed the gate, like everything else.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fanout::{Info, Segmentation};
use media::StreamName;

use crate::answer::Refused;
use crate::keys::Keys;
use crate::packaging::Packaging;
use crate::reload::Directives;
use crate::{Context, Request, Resource};

/// Whether a stream is encrypted.
pub type Applies = Box<dyn Fn(&StreamName) -> bool + Send + Sync>;

/// What an operator decides about encryption.
pub struct Settings {
    /// What all keys are derived from. It is to be as hard to guess as a key.
    pub secret: Vec<u8>,
    /// For how long a key is used.
    pub key_period: Duration,
    /// Which streams are encrypted; must not change its mind about a stream that is live.
    pub applies: Applies,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Settings");
        shown
            .field("key_period", &self.key_period)
            .finish_non_exhaustive()
    }
}

/// See the module's description.
pub(crate) struct Encryption {
    pub(crate) keys: Arc<Keys>,
    applies: Applies,
}

impl Encryption {
    pub(crate) fn new(settings: Settings, bounds: &Segmentation) -> Self {
        let Settings {
            secret,
            key_period,
            applies,
        } = settings;
        Self {
            keys: Arc::new(Keys::new(&secret, key_period, bounds)),
            applies,
        }
    }

    pub(crate) fn applies(&self, stream: &StreamName) -> bool {
        (self.applies)(stream)
    }
}

/// The packaging that a request is about; `None` for the usual one.
///
/// # Errors
/// When the stream does not have it, because it is encrypted or because it is not.
pub(crate) fn named(
    context: &Context,
    request: &Request<'_>,
    directives: &Directives,
) -> Result<Option<Packaging>, Refused> {
    let is_encrypted = context.encryption.applies(request.stream);
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

/// The packaging that the multivariant playlist names of a stream.
pub(crate) fn of_stream(context: &Context, info: &Info, directives: &Directives) -> Packaging {
    match directives.packaging {
        _ if context.encryption.applies(&info.name) => Packaging::Encrypted,
        Some(packaging) => packaging,
        None => Packaging::usual(info),
    }
}
