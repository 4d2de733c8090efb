//! Events of a session for its driver, and the driver's decisions.

use std::time::Duration;

use bytes::Bytes;

use super::StreamPath;
use crate::auth::Proof;

/// An event that the driver has to know of or decide on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The peer has sent `connect`. The session has already replied.
    Connect(Box<Connect>),
    /// The peer was refused with a request for a password or a proof; this connection is over.
    TurnedAway(Box<TurnedAway>),
    /// The peer requests to publish: decide with [`accept_publish`](super::Session::accept_publish) or
    /// [`reject`](super::Session::reject).
    Publish(Box<Request>),
    /// The peer requests to play: decide with [`accept_play`](super::Session::accept_play), as soon as the
    /// stream exists, with [`accept_recorded`](super::Session::accept_recorded) or
    /// [`reject`](super::Session::reject). The peer receives no reply before that, and there is no deadline.
    /// If it was playing already, that has ended, and there is no [`Stop`](Self::Stop).
    Play(Box<Request>),
    /// The accepted player pauses. The session has already replied, as it has to [`Resume`](Self::Resume) and
    /// [`Select`](Self::Select).
    Pause(RequestId),
    /// The paused player continues: send media from the next point where playback may start.
    Resume(RequestId),
    /// The accepted player has changed its selection of media.
    Select {
        /// Request that plays.
        id: RequestId,
        /// Whether audio is wanted.
        audio: bool,
        /// Whether video is wanted.
        video: bool,
    },
    /// The player of a recorded stream requests another position: answer with
    /// [`sought`](super::Session::sought).
    Seek {
        /// Request that plays.
        id: RequestId,
        /// Position from the beginning of the stream.
        to: Duration,
    },
    /// The request to play was withdrawn, or the player has ended it; it may request another stream.
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
    /// Publisher's clock, in milliseconds modulo 2^32; [`Unwrap`](crate::timestamp::Unwrap) extends it.
    pub timestamp: u32,
    /// Message body. Short messages that arrive together may share an allocation.
    pub payload: Bytes,
}

/// A peer's statements about itself in `connect`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Connect {
    /// Application, without slashes at its ends and without a query. Untrusted text.
    pub app: String,
    /// Name of the peer's software, as sent. Untrusted text.
    pub flash_version: String,
    /// Page on which the peer plays, without its query and fragment; empty if it sends none. Untrusted text.
    pub page_url: String,
    /// Codecs that the peer names (Enhanced RTMP `fourCcList`).
    pub four_ccs: Vec<String>,
    /// Enhanced RTMP `capsEx` bits; 1 is for reconnect requests.
    pub capabilities: u32,
}

/// A client that was refused for a missing or wrong password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnedAway {
    /// Application that the client requested.
    pub app: String,
    /// Name of the client's software, as sent. Untrusted text.
    pub flash_version: String,
    /// Credential that was requested.
    pub why: CredentialRequest,
}

/// Credential that a refused client was requested to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialRequest {
    /// User and password: the client has named no user.
    Password,
    /// Proof that the client knows the password: it has named its user.
    Proof,
    /// None: the client's proof is wrong.
    Again,
}

/// A request for a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Identifier for the decision on the request.
    pub id: RequestId,
    /// Requested stream, and whatever may prove the peer's right to it.
    pub path: StreamPath,
    /// Publishing mode; [`Mode::Live`] when playing.
    pub mode: Mode,
    /// Part of the stream to be played; all of it when publishing.
    pub passage: Passage,
    /// Answer to a [challenge](super::Challenge), to be verified with the user's password.
    pub proof: Option<Proof>,
}

/// Part of a stream that a player requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passage {
    /// Beginning of the part.
    pub start: Start,
    /// Length of the part; `None` to the end of the stream.
    pub duration: Option<Duration>,
}

/// Position at which a player begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// The live stream, or, if there is none, the beginning of the recorded one.
    #[default]
    LiveOrRecorded,
    /// The live stream.
    Live,
    /// This position of the recorded stream.
    Recorded(Duration),
}

/// Name of one request on one connection. A later request never has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// Message stream that the request arrived on.
    pub(super) stream: u32,
    pub(super) serial: u32,
}

impl RequestId {
    /// Returns the message stream that the request arrived on, which the media of a player must name. 1 for
    /// nearly every client; 0 for those that send requests without `createStream`.
    pub fn stream(self) -> u32 {
        self.stream
    }
}

/// State of the one request of its kind that a connection may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RequestState {
    #[default]
    Idle,
    /// Not decided by the caller yet.
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

/// Publishing type. Any unknown one is taken as live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Live only.
    #[default]
    Live,
    /// Live, and recorded anew.
    Record,
    /// Live, and appended to an earlier recording.
    Append,
}

/// Error of a request that no longer exists: the peer withdrew it, or the session has closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request was withdrawn")]
pub struct Withdrawn;

/// Reason for refusing a peer, in the terms clients understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The name is taken by another publisher, or another one has taken it over.
    BadName,
    /// The peer has no permission: wrong or missing credential.
    Denied,
    /// The server refuses: a limit, or a malformed name.
    Rejected,
    /// The server cannot continue.
    Failed,
    /// The stream to play does not exist.
    StreamNotFound,
}

impl Rejection {
    /// Returns the NetStream code for a player: apart from a missing stream players only know a general
    /// failure.
    pub(super) fn play_code(self) -> &'static str {
        match self {
            Self::StreamNotFound => "NetStream.Play.StreamNotFound",
            _ => "NetStream.Play.Failed",
        }
    }

    /// Returns the NetStream code for a publisher.
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
