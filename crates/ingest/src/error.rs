//! Errors that end a publisher's connection early, sorted by blame.

use std::io;
use std::time::Duration;

use fanout::gate::Denied;
use fanout::{EpochOver, PublishRefused};
use media::NameError;

/// Reason why a connection, or a request, ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // The peer requested something it may not have.
    /// The stream's name is not valid.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The name belongs to the server's own pages.
    #[error("the name is reserved")]
    NameReserved,
    /// The gate refused.
    #[error("{0}")]
    Denied(#[from] Denied),
    /// The registry refused.
    #[error("{0}")]
    Refused(#[from] PublishRefused),
    /// A metadata update for a stream that does not exist.
    #[error("the stream does not exist")]
    NoSuchStream,
    /// A metadata request without a parameter it needs.
    #[error("the parameter `{0}` is missing")]
    ParameterMissing(&'static str),
    /// A metadata request that a browser sent, or may have sent, on behalf of a page of another site.
    #[error("titles are not set by pages of other sites")]
    OtherSite,
    /// A metadata request for anything but a title update.
    #[error("the only mode is `updinfo`")]
    ModeUnknown,

    // The peer broke its protocol, or a limit of it.
    /// The peer sent something malformed, too large or too late.
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
    /// The source's body is in no format that can be relayed.
    #[error("the body is none of MP3, AAC in ADTS, Ogg, WebM and FLAC; it was announced as {0:?}")]
    NotMedia(String),

    // The peer was too slow.
    /// Media was announced and none arrived.
    #[error("no media arrived within {} s", .0.as_secs_f64())]
    NoMedia(Duration),
    /// A WebRTC publisher received its answer and did not connect.
    #[error("no media connection: {0}")]
    NotConnected(webrtc::mux::CloseReason),
    /// Media stopped arriving.
    #[error("nothing arrived for {} s", .0.as_secs_f64())]
    Silent(Duration),

    // This server, or another publisher, ended it.
    /// The permission to publish was limited in time and has ended.
    #[error("the permission to publish has ended")]
    Expired,
    /// Another publisher took over the stream.
    #[error("another publisher has taken over")]
    Superseded,
    /// The stream was ended by an operator or by the server.
    #[error("the server ended the stream")]
    Ended,
    /// This server's code panicked on the publisher's input.
    #[error("a defect of the server ended it")]
    Panicked,

    // The environment failed.
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<EpochOver> for Error {
    fn from(over: EpochOver) -> Self {
        match over {
            EpochOver::Superseded => Self::Superseded,
            EpochOver::Ended => Self::Ended,
        }
    }
}

/// Error of the publisher's protocol, with the reason under which it is counted.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct ProtocolError {
    rejection: Rejection,
    cause: Box<dyn std::error::Error + Send + Sync>,
}

impl ProtocolError {
    pub(crate) fn new(
        rejection: Rejection,
        cause: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            rejection,
            cause: Box::new(cause),
        }
    }

    /// Returns the protocol's own error if it is of type `E`.
    pub fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.cause.downcast_ref()
    }
}

base::labels! {
    /// Reason why a publisher or a metadata update is refused: the label of a metric.
    pub enum Rejection {
        /// The stream's name is not allowed.
        Name = "name",
        /// No credential. Many sources send their first request without one, so it means little.
        CredentialMissing = "credential_missing",
        /// A wrong credential.
        CredentialWrong = "credential_wrong",
        /// Too many wrong credentials from one address.
        Attempts = "attempts",
        /// The gate received no reply in time.
        Unavailable = "unavailable",
        /// The permission was limited in time and has ended, or it is for something else.
        Expired = "expired",
        /// Clients of this kind are excluded.
        Excluded = "excluded",
        /// The stream already has a publisher.
        Busy = "busy",
        /// The publisher was replaced by the stream's present publisher.
        Replaced = "replaced",
        /// An operator has blocked the stream for some time.
        Blocked = "blocked",
        /// The number of streams is at its limit.
        Limit = "limit",
        /// The requested item does not exist.
        NotFound = "not_found",
        /// Malformed bytes.
        Malformed = "malformed",
        /// More than a limit of the protocol allows.
        Oversized = "oversized",
        /// A deadline passed.
        Slow = "slow",
    }
}

impl Error {
    /// Returns the reason under which the error is counted; `None` when no client was refused.
    pub fn rejection(&self) -> Option<Rejection> {
        Some(match self {
            Self::Name(_) | Self::NameReserved => Rejection::Name,
            Self::Denied(Denied::Missing) => Rejection::CredentialMissing,
            Self::Denied(Denied::Wrong) => Rejection::CredentialWrong,
            Self::Denied(Denied::TooManyAttempts) => Rejection::Attempts,
            Self::Denied(Denied::Unavailable) => Rejection::Unavailable,
            Self::Denied(Denied::Unfit | Denied::InUse) | Self::Expired => Rejection::Expired,
            Self::Denied(Denied::Excluded(_)) | Self::OtherSite => Rejection::Excluded,
            Self::Refused(PublishRefused::Busy) => Rejection::Busy,
            Self::Refused(PublishRefused::Replaced) => Rejection::Replaced,
            Self::Refused(PublishRefused::Blocked(_)) => Rejection::Blocked,
            Self::Refused(PublishRefused::TooMany | PublishRefused::Ended) => Rejection::Limit,
            Self::NoSuchStream => Rejection::NotFound,
            Self::ParameterMissing(_) | Self::ModeUnknown | Self::NotMedia(_) => {
                Rejection::Malformed
            }
            Self::Protocol(error) => error.rejection,
            Self::NoMedia(_) | Self::Silent(_) | Self::NotConnected(_) => Rejection::Slow,
            Self::Superseded | Self::Ended | Self::Panicked | Self::Io(_) => return None,
        })
    }
}
