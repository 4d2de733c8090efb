//! Why a player's connection ended early, sorted by blame, and what the player is told.

use std::io;

use ::rtmp::server::Rejection;
use fanout::gate::Denied;
use fanout::{JoinRefused, LaneRefused};
use media::NameError;

/// What ended a connection or a request to play, except its normal end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // The peer asked for what it may not have.
    /// The stream's name is invalid.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The gate refuses it.
    #[error("{0}")]
    Denied(Denied),
    /// It has no publisher, and none came in time.
    #[error("there is no such stream")]
    NotFound,
    /// RTMP cannot carry its container.
    #[error("the stream's format cannot be played over RTMP")]
    Unplayable,
    /// It is to be played on a message stream that has no lanes.
    #[error("play on the first stream of the connection")]
    MessageStream,

    // The peer broke the protocol, or one of its limits.
    /// RTMP was broken.
    #[error("{0}")]
    Rtmp(#[from] ::rtmp::Error),

    /// It pauses or restarts playback more often than a person would.
    #[error("playing was interrupted too often")]
    Restless,

    /// The file is damaged, or has nothing that RTMP can carry; or its disk does not give it.
    #[error("the file cannot be played: {0}")]
    File(io::Error),

    // The server has no capacity.
    /// It is elsewhere, and cannot be brought now.
    #[error("the stream cannot be fetched at the moment")]
    Unavailable,
    /// The stream has no lane for it.
    #[error("{0}")]
    Lane(LaneRefused),
    /// The stream has as many listeners as it may.
    #[error("the stream has as many listeners as it may")]
    Full,
    /// The workers take no new listener at the moment.
    #[error("too many listeners are joining at once")]
    Busy,

    // It is over.
    /// The server accepts nothing new.
    #[error("the server is shutting down")]
    Leaving,
    /// The stream has ended.
    #[error("the stream has ended")]
    Ended,

    // The environment failed.
    /// The connection broke, or the peer took nothing for too long.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<JoinRefused> for Error {
    fn from(refused: JoinRefused) -> Self {
        match refused {
            JoinRefused::Denied(denied) => Self::Denied(denied),
            JoinRefused::NotFound | JoinRefused::Late => Self::NotFound,
            // A stream that is still unclear is not waited for once it is decided that RTMP cannot carry it.
            JoinRefused::Impossible(_) | JoinRefused::Unclear(_) => Self::Unplayable,
            JoinRefused::Full => Self::Full,
            JoinRefused::Unavailable => Self::Unavailable,
            JoinRefused::Lane(LaneRefused::Ended) => Self::Ended,
            JoinRefused::Lane(refused) => Self::Lane(refused),
        }
    }
}

impl Error {
    /// The status that tells the player; `None` when the session has sent its own, when another applies, or
    /// when no peer is left to tell.
    pub(crate) fn rejection(&self) -> Option<Rejection> {
        Some(match self {
            Self::Name(_) | Self::NotFound => Rejection::StreamNotFound,
            Self::Denied(Denied::Unavailable) => Rejection::Failed,
            Self::Denied(_) => Rejection::Denied,
            Self::Unplayable
            | Self::File(_)
            | Self::MessageStream
            | Self::Restless
            | Self::Unavailable
            | Self::Lane(_)
            | Self::Full
            | Self::Busy
            | Self::Leaving => Rejection::Failed,
            Self::Rtmp(_) | Self::Ended | Self::Io(_) => return None,
        })
    }
}
