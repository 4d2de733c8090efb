//! Errors that end a player's connection early, sorted by blame, and the status that the player receives.

use std::io;

use ::rtmp::server::Rejection;
use fanout::gate::Denied;
use fanout::{JoinRefused, LaneRefused};
use media::NameError;

/// Reason why a connection or a request to play ended, except its normal end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // The peer requested something it may not have.
    /// The stream's name is invalid.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The gate refused the player.
    #[error("{0}")]
    Denied(Denied),
    /// The stream has no publisher, and none arrived in time.
    #[error("there is no such stream")]
    NotFound,
    /// RTMP cannot carry the stream's container.
    #[error("the stream's format cannot be played over RTMP")]
    Unplayable,
    /// The requested message stream has no lanes.
    #[error("play on the first stream of the connection")]
    MessageStream,

    // The peer broke the protocol, or one of its limits.
    /// The peer broke RTMP.
    #[error("{0}")]
    Rtmp(#[from] ::rtmp::Error),

    /// The player pauses or restarts playback more often than a person would.
    #[error("playing was interrupted too often")]
    Restless,

    /// The file is damaged, or contains nothing that RTMP can carry; or reading it from its disk failed.
    #[error("the file cannot be played: {0}")]
    File(io::Error),

    // The server has no capacity.
    /// The stream is on another server, and cannot be fetched now.
    #[error("the stream cannot be fetched at the moment")]
    Unavailable,
    /// The stream has no lane for the player.
    #[error("{0}")]
    Lane(LaneRefused),
    /// The stream has as many listeners as it may.
    #[error("the stream has as many listeners as it may")]
    Full,
    /// The workers take no new listener at the moment.
    #[error("too many listeners are joining at once")]
    Busy,

    // Playing is over.
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
            // `Unclear` does not occur: `choose` decides every stream at once.
            JoinRefused::Impossible(_) | JoinRefused::Unclear(_) => Self::Unplayable,
            JoinRefused::Full => Self::Full,
            JoinRefused::Unavailable => Self::Unavailable,
            JoinRefused::Lane(LaneRefused::Ended) => Self::Ended,
            JoinRefused::Lane(refused) => Self::Lane(refused),
        }
    }
}

impl Error {
    /// Returns the status for the player; `None` when the session has sent its own, when another applies, or
    /// when no peer is left to receive one.
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
