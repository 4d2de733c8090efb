//! Why a publisher's connection ended early, sorted by blame.

use std::io;
use std::time::Duration;

use fanout::PublishRefused;
use fanout::gate::Denied;
use media::NameError;

/// What ended a connection, or a request, early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // The peer asked for what it may not have.
    /// The stream's name is not valid.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The name belongs to the server's own pages.
    #[error("the name is reserved")]
    NameReserved,
    /// The gate refuses.
    #[error("{0}")]
    Denied(#[from] Denied),
    /// The registry refuses.
    #[error("{0}")]
    Refused(#[from] PublishRefused),
    /// A metadata update for a stream that is not there.
    #[error("the stream does not exist")]
    NoSuchStream,
    /// A metadata request without a parameter it needs.
    #[error("the parameter `{0}` is missing")]
    ParameterMissing(&'static str),
    /// A metadata request that a page of another site has a browser send, or might.
    #[error("titles are not set by pages of other sites")]
    OtherSite,
    /// A metadata request to do something other than to update the title.
    #[error("the only mode is `updinfo`")]
    ModeUnknown,

    // The peer broke its protocol, or a limit of it.
    /// What it sent was malformed, too much or too late.
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
    /// The body of a source is nothing that can be relayed.
    #[error("the body is none of MP3, AAC in ADTS, Ogg, WebM and FLAC; it was announced as {0:?}")]
    NotMedia(String),

    // The peer was too slow.
    /// Media was announced and none arrived.
    #[error("no media arrived within {} s", .0.as_secs_f64())]
    NoMedia(Duration),
    /// A publisher over WebRTC was answered and did not connect.
    #[error("no media connection: {0}")]
    NotConnected(webrtc::mux::CloseReason),
    /// Media stopped.
    #[error("nothing arrived for {} s", .0.as_secs_f64())]
    Silent(Duration),

    // We, or another publisher, ended it.
    /// The permission was given for a time, which is over.
    #[error("the permission to publish has ended")]
    Expired,
    /// Another publisher has the stream now.
    #[error("another publisher has taken over")]
    Superseded,
    /// The stream was ended from outside.
    #[error("the server ended the stream")]
    Ended,
    /// Our code panicked over what the publisher sent.
    #[error("a defect of the server ended it")]
    Panicked,

    // The environment failed.
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// An error of the protocol that a publisher speaks, and how it is counted.
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

    /// The protocol's own error, if it is of this type.
    pub fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.cause.downcast_ref()
    }
}

base::labels! {
    /// Why publishers and metadata updates are refused: the label of a metric.
    pub enum Rejection {
        /// The stream's name is not allowed.
        Name = "name",
        /// No credential. Many sources ask this way first, so it means little.
        CredentialMissing = "credential_missing",
        /// A wrong credential.
        CredentialWrong = "credential_wrong",
        /// Too many wrong credentials from one address.
        Attempts = "attempts",
        /// The gate got no answer in time.
        Unavailable = "unavailable",
        /// A permission that was given for a time has ended, or is for something else.
        Expired = "expired",
        /// Clients like this one are not let in.
        Excluded = "excluded",
        /// The stream has a publisher.
        Busy = "busy",
        /// It was replaced by the stream's present publisher.
        Replaced = "replaced",
        /// An operator has ended the stream for a time.
        Blocked = "blocked",
        /// The number of streams is at its limit.
        Limit = "limit",
        /// A request for something that is not there.
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
    /// How it is counted; `None` when no client was refused.
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
