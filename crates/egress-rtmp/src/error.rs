//! Why a player's connection ended before its time, sorted by blame, and what it is told.

use std::io;

use ::rtmp::server::Rejection;
use fanout::gate::Denied;
use fanout::{JoinRefused, LaneRefused};
use media::NameError;

/// What ended a connection, or a request to play, that did not simply come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // The peer asked for what it may not have.
    /// The stream's name is none.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The gate says no.
    #[error("{0}")]
    Denied(Denied),
    /// Nobody publishes it, and nobody began to in time.
    #[error("there is no such stream")]
    NotFound,
    /// Its container is none that RTMP can carry.
    #[error("the stream's format cannot be played over RTMP")]
    Unplayable,
    /// It shall be played on a message stream that there are no lanes for.
    #[error("play on the first stream of the connection")]
    MessageStream,

    // The peer broke its protocol, or a limit of it.
    /// RTMP was broken.
    #[error("{0}")]
    Rtmp(#[from] ::rtmp::Error),

    /// It interrupts what it plays more often than any person does.
    #[error("playing was interrupted too often")]
    Restless,

    // We have no room.
    /// It is elsewhere, and cannot be brought now.
    #[error("the stream cannot be fetched at the moment")]
    Unavailable,
    /// The stream has no lane for it.
    #[error("{0}")]
    Lane(LaneRefused),
    /// The workers take nobody in just now.
    #[error("too many listeners are joining at once")]
    Busy,

    // It is over.
    /// Nothing begins any more.
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
            // Nothing of a stream is waited for that decides whether RTMP can carry it.
            JoinRefused::Impossible(_) | JoinRefused::Unclear(_) => Self::Unplayable,
            JoinRefused::Unavailable => Self::Unavailable,
            JoinRefused::Lane(LaneRefused::Ended) => Self::Ended,
            JoinRefused::Lane(refused) => Self::Lane(refused),
        }
    }
}

impl Error {
    /// The status that tells the player; `None` when the session has said its own words, when there
    /// are others for it, or when nobody is left to hear any.
    pub(crate) fn rejection(&self) -> Option<Rejection> {
        Some(match self {
            Self::Name(_) | Self::NotFound => Rejection::StreamNotFound,
            Self::Denied(Denied::Unavailable) => Rejection::Failed,
            Self::Denied(_) => Rejection::Denied,
            Self::Unplayable
            | Self::MessageStream
            | Self::Restless
            | Self::Unavailable
            | Self::Lane(_)
            | Self::Busy
            | Self::Leaving => Rejection::Failed,
            Self::Rtmp(_) | Self::Ended | Self::Io(_) => return None,
        })
    }
}
