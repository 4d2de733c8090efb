//! What a session tells its driver, and what the driver answers.

use std::time::Duration;

use bytes::Bytes;

use super::StreamPath;
use crate::auth::Proof;

/// Something the driver has to know or decide.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The peer has sent `connect`. Already answered.
    Connect(Box<Connect>),
    /// The peer was refused and asked for a password by challenge; this connection is over.
    TurnedAway(Box<TurnedAway>),
    /// The peer wants to publish: answer with
    /// [`accept_publish`](super::Session::accept_publish) or [`reject`](super::Session::reject).
    Publish(Box<Request>),
    /// The peer wants to play: answer with [`accept_play`](super::Session::accept_play), as soon as
    /// the stream exists, with [`accept_recorded`](super::Session::accept_recorded) or
    /// [`reject`](super::Session::reject). The peer gets no answer before that, and there is no
    /// deadline. If it was playing already, that has ended, and there is no [`Stop`](Self::Stop).
    Play(Box<Request>),
    /// The accepted player wants to pause. Answered already, as are the next three.
    Pause(RequestId),
    /// The paused player wants to continue: media from the next point where playback may start.
    Resume(RequestId),
    /// The accepted player has changed which media it wants.
    Select {
        /// The request that plays.
        id: RequestId,
        /// Whether audio is wanted.
        audio: bool,
        /// Whether video is wanted.
        video: bool,
    },
    /// The player of a recorded stream wants to continue elsewhere: answer with
    /// [`sought`](super::Session::sought).
    Seek {
        /// The request that plays.
        id: RequestId,
        /// Where, from the beginning of the stream.
        to: Duration,
    },
    /// The request to play was withdrawn, or the player has ended it; it may ask for another.
    Stop(RequestId),
    /// An audio message of the accepted publisher: one FLV audio tag body, never empty.
    Audio(Media),
    /// A video message of the accepted publisher: one FLV video tag body, never empty.
    Video(Media),
    /// The publisher's metadata, without a leading `@setDataFrame`: the string `onMetaData` and the
    /// value after it, byte for byte.
    Metadata(Media),
    /// Any other data message of the publisher, byte for byte: AMF0, beginning with a name.
    Data(Media),
    /// The request was withdrawn or the publisher has ended its stream; it may start another.
    Unpublish(RequestId),
}

/// A timed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The publisher's clock, milliseconds modulo 2^32; [`Unwrap`](crate::timestamp::Unwrap) extends it.
    pub timestamp: u32,
    /// The message, in an allocation of its own.
    pub payload: Bytes,
}

/// What a peer says when it connects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Connect {
    /// The application, without slashes at its ends and without a query. Untrusted text.
    pub app: String,
    /// The software, as it calls itself. Untrusted text.
    pub flash_version: String,
    /// The page that it plays on, without its query and fragment; empty if it does not say. Untrusted text.
    pub page_url: String,
    /// The codecs it names (Enhanced RTMP `fourCcList`).
    pub four_ccs: Vec<String>,
    /// The Enhanced RTMP `capsEx` bits; 1 is for reconnect requests.
    pub capabilities: u32,
}

/// A client that was asked for a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnedAway {
    /// The application it asked for.
    pub app: String,
    /// What the client calls itself. Untrusted text.
    pub flash_version: String,
    /// What it was asked for.
    pub why: CredentialRequest,
}

/// What a refused client was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialRequest {
    /// User and password: it has named no user.
    Password,
    /// The proof that it knows the password; it has named its user.
    Proof,
    /// Nothing: its proof is wrong.
    Again,
}

/// A request for a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What to answer it by.
    pub id: RequestId,
    /// The stream, and whatever may prove the peer's right to it.
    pub path: StreamPath,
    /// The publishing mode; [`Mode::Live`] when playing.
    pub mode: Mode,
    /// What of the stream is to be played; all of it when publishing.
    pub passage: Passage,
    /// The answer to a [challenge](super::Challenge), to be verified with the user's password.
    pub proof: Option<Proof>,
}

/// What of a stream a player wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passage {
    /// Where it begins.
    pub start: Start,
    /// How long it lasts; `None` to the end of the stream.
    pub duration: Option<Duration>,
}

/// Where a player wants to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// With the live stream, or, if there is none, at the beginning of the recorded one.
    #[default]
    LiveOrRecorded,
    /// With the live stream.
    Live,
    /// At this place of the recorded stream.
    Recorded(Duration),
}

/// Names one request on one connection. A later request never has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// The message stream it came on.
    pub(super) stream: u32,
    pub(super) serial: u32,
}

impl RequestId {
    /// The message stream the request came on, which the media of a player must name. 1 for nearly
    /// every client; 0 for those that ask without `createStream`.
    pub fn stream(self) -> u32 {
        self.stream
    }
}

/// What has become of the one request of its kind that a connection may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RequestState {
    #[default]
    Idle,
    /// The caller has not decided yet.
    Pending(RequestId),
    Accepted(RequestId),
}

impl RequestState {
    pub(super) fn id(self) -> Option<RequestId> {
        match self {
            Self::Idle => None,
            Self::Pending(id) | Self::Accepted(id) => Some(id),
        }
    }
}

/// The publishing type. Anything unknown is taken as live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Only live.
    #[default]
    Live,
    /// Live and recorded anew.
    Record,
    /// Live and appended to an earlier recording.
    Append,
}

/// The request is no longer there: the peer withdrew it, or the session has closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request was withdrawn")]
pub struct Withdrawn;

/// Why a peer is refused, in the terms clients understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The name is taken by another publisher, or another one has taken it over.
    BadName,
    /// The peer may not: wrong or missing credential.
    Denied,
    /// The server refuses: a limit, a malformed name.
    Rejected,
    /// The server cannot continue.
    Failed,
    /// There is no such stream to play.
    StreamNotFound,
}

impl Rejection {
    /// The NetStream code for a player: apart from a missing stream players only know a general
    /// failure.
    pub(super) fn play_code(self) -> &'static str {
        match self {
            Self::StreamNotFound => "NetStream.Play.StreamNotFound",
            _ => "NetStream.Play.Failed",
        }
    }

    /// The NetStream code for a publisher.
    pub fn code(self) -> &'static str {
        match self {
            Self::BadName => "NetStream.Publish.BadName",
            Self::Denied => "NetStream.Publish.Denied",
            Self::Rejected => "NetStream.Publish.Rejected",
            Self::Failed => "NetStream.Failed",
            Self::StreamNotFound => "NetStream.Play.StreamNotFound",
        }
    }
}
