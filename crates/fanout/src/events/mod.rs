//! Events: one bounded broadcast, for consumers outside the media path (the API's event stream; webhooks, a
//! dashboard and other nodes are further readers).
//!
//! ```text
//!  stream, registry, directory ──emit──► Events: the last RECENT_MAX events ──► EventReader, …
//!  server: doors, links ─────────emit──►                                   ──► EventReader
//!  workers, handles ──Condition──► bounded channel ──tick──►
//! ```
//!
//! Each event is emitted in the one place where it is decided, under the lock that decides it, so the events of a
//! stream, and those of a listener, are in order. Emitting never waits for a reader and allocates nothing: an event is
//! a few words and counted references to existing data. A reader that is slow, or comes back later, continues where it
//! was as far as recent events reach, and receives the number of events it has missed.
//!
//! The threads that visit listeners take no lock here. They report departures and degraded listeners through bounded
//! channels, and the control plane emits the events.

mod conditions;
mod reader;
mod refusals;
mod ring;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use media::{StreamName, Title, Track};

pub(crate) use self::conditions::{ConditionSender, Conditions};
pub use self::reader::{EventReader, Received};
pub use self::refusals::{REFUSALS_PER_SECOND, Refusal};
pub(crate) use self::ring::StreamEvents;
pub use self::ring::{Events, RECENT_MAX};
use crate::cursor::Reason;
use crate::format::{Format, Protocol};
use crate::listener::ListenerId;
use crate::stream::Source;

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Number of the event: one more than the previous event's. Numbers grow across restarts, too.
    pub sequence: u64,
    /// Time at which it was emitted.
    pub at: SystemTime,
    /// Stream it belongs to, if any.
    pub stream: Option<StreamName>,
    /// Kind and facts of the event.
    pub kind: EventKind,
}

/// Kinds of events, with their facts.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A new stream exists. Its first epoch begins.
    Began,
    /// A publisher has taken the stream for a new epoch.
    EpochBegan {
        /// Number of the epoch, from 1.
        epoch: u32,
        /// The publisher.
        source: Arc<Source>,
    },
    /// The publisher was replaced by another, whose epoch begins next.
    TakenOver {
        /// Number of the epoch that has ended.
        epoch: u32,
        /// The publisher that was replaced.
        source: Arc<Source>,
    },
    /// The publisher has announced its tracks, or different ones.
    TracksChanged {
        /// Number of the epoch they belong to.
        epoch: u32,
        /// All tracks, in the order they appeared.
        tracks: Arc<[Arc<Track>]>,
    },
    /// The title has changed.
    TitleChanged {
        /// New title; `None` when it was cleared.
        title: Option<Arc<Title>>,
    },
    /// The publisher is gone; the stream lingers.
    PublisherLeft {
        /// Number of the epoch that has ended.
        epoch: u32,
        /// Time for which listeners are kept for the next publisher.
        linger: Duration,
    },
    /// The stream has ended.
    Ended {
        /// Reason for the end.
        reason: EndReason,
    },
    /// The fallback that plays while the publisher is away has begun, has ended or cannot be played.
    Fallback {
        /// Stream that serves as the fallback.
        fallback: StreamName,
        /// Step of the fallback: `began`, `refused`, `returned`, `ended` or `unwanted`.
        outcome: &'static str,
    },
    /// A possible fault of the publisher's audio has begun, or has ended.
    Audio {
        /// Kind of fault: `silence` or `clipping`.
        condition: &'static str,
        /// Step of the fault: `began` or `ended`.
        outcome: &'static str,
    },
    /// A listener has received a lane.
    ListenerJoined {
        /// The listener.
        listener: ListenerId,
        /// Format of its lane.
        format: Format,
        /// Address it connects from.
        peer: SocketAddr,
    },
    /// A listener has left.
    ListenerLeft {
        /// The listener.
        listener: ListenerId,
        /// Its protocol.
        protocol: Protocol,
        /// Reason for leaving.
        reason: Reason,
        /// Bytes sent to it.
        sent_bytes: u64,
        /// Number of times it was moved forward.
        skips: u32,
        /// Time from its request to its departure.
        lasted: Duration,
    },
    /// A listener was moved forward because it, or the server, fell behind.
    Degraded {
        /// The listener.
        listener: ListenerId,
    },
    /// A degraded listener has not been moved for a while. A listener that leaves does not recover first.
    Recovered {
        /// The listener.
        listener: ListenerId,
    },
    /// A publisher, a listener or a connection was refused.
    Refused(Refusal),
    /// A link to another server passes its stream on.
    LinkUp {
        /// Direction of the link: `push` or `pull`.
        direction: &'static str,
        /// Address of the other server, without secrets.
        url: Arc<str>,
    },
    /// A link to another server has stopped passing its stream on, or failed before it ever did. Emitted once, however
    /// often it fails again.
    LinkDown {
        /// Direction of the link: `push` or `pull`.
        direction: &'static str,
        /// Address of the other server, without secrets.
        url: Arc<str>,
        /// The failure, without secrets; `None` when the link ended in order. May hold untrusted text.
        error: Option<Arc<str>>,
    },
}

impl EventKind {
    /// Returns the topic of the event.
    pub fn topic(&self) -> Topic {
        match self {
            Self::Began => Topic::Began,
            Self::EpochBegan { .. } => Topic::Epoch,
            Self::TakenOver { .. } => Topic::TakenOver,
            Self::TracksChanged { .. } => Topic::Tracks,
            Self::TitleChanged { .. } => Topic::Title,
            Self::PublisherLeft { .. } => Topic::PublisherLeft,
            Self::Ended { .. } => Topic::Ended,
            Self::Fallback { .. } => Topic::Fallback,
            Self::Audio { .. } => Topic::Audio,
            Self::ListenerJoined { .. } => Topic::ListenerJoined,
            Self::ListenerLeft { .. } => Topic::ListenerLeft,
            Self::Degraded { .. } => Topic::Degraded,
            Self::Recovered { .. } => Topic::Recovered,
            Self::Refused(_) => Topic::Refused,
            Self::LinkUp { .. } => Topic::LinkUp,
            Self::LinkDown { .. } => Topic::LinkDown,
        }
    }
}

base::labels! {
    /// Kinds of events by name, for subscribers that choose among them.
    pub enum Topic {
        /// [`EventKind::Began`].
        Began = "began",
        /// [`EventKind::EpochBegan`].
        Epoch = "epoch",
        /// [`EventKind::TakenOver`].
        TakenOver = "taken_over",
        /// [`EventKind::TracksChanged`].
        Tracks = "tracks",
        /// [`EventKind::TitleChanged`].
        Title = "title",
        /// [`EventKind::PublisherLeft`].
        PublisherLeft = "publisher_left",
        /// [`EventKind::Ended`].
        Ended = "ended",
        /// [`EventKind::Fallback`].
        Fallback = "fallback",
        /// [`EventKind::Audio`].
        Audio = "sound",
        /// [`EventKind::ListenerJoined`].
        ListenerJoined = "listener_joined",
        /// [`EventKind::ListenerLeft`].
        ListenerLeft = "listener_left",
        /// [`EventKind::Degraded`].
        Degraded = "degraded",
        /// [`EventKind::Recovered`].
        Recovered = "recovered",
        /// [`EventKind::Refused`].
        Refused = "refused",
        /// [`EventKind::LinkUp`].
        LinkUp = "link_up",
        /// [`EventKind::LinkDown`].
        LinkDown = "link_down",
    }
}

base::labels! {
    /// Reasons why a stream has ended.
    pub enum EndReason {
        /// The publisher left and none came within the stream's linger time.
        Abandoned = "abandoned",
        /// The operator ended the stream.
        Operator = "operator",
        /// The stream was fetched on demand, and has no listeners any more.
        Unwanted = "unwanted",
        /// The server shuts down.
        Shutdown = "shutdown",
    }
}

#[cfg(test)]
mod tests;
