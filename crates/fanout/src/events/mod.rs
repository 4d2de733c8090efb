//! Events: one bounded broadcast, for consumers outside the media path (the API's event stream; webhooks, a
//! dashboard and other nodes are further readers).
//!
//! ```text
//!  stream, registry, directory ──emit──► Events: the last RECENT_MAX events ──► EventReader, …
//!  server: doors, links ─────────emit──►                                   ──► EventReader
//!  workers, handles ──Condition──► bounded channel ──tick──►
//! ```
//!
//! Each event is emitted in the one place where it is decided, under the lock that decides it, so the events of
//! a stream, and those of a listener, are in order. Emitting never waits for a reader and allocates nothing: an
//! event is a few words and counted references to existing data. A reader that is slow, or comes back later,
//! goes on where it was as far as recent events reach, and is told how many it has missed.
//!
//! The threads that visit listeners take no lock here. What they report (departures, degraded listeners) goes
//! into bounded channels, and the control plane emits it.

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
    /// Its number: one more than that of the event before. Numbers grow across restarts, too.
    pub sequence: u64,
    /// When it was emitted.
    pub at: SystemTime,
    /// The stream it belongs to, if any.
    pub stream: Option<StreamName>,
    /// What it is.
    pub kind: EventKind,
}

/// The kinds of events, with their facts.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A new stream exists. Its first epoch begins.
    Began,
    /// A publisher has taken the stream for a new epoch.
    EpochBegan {
        /// The number of the epoch, from 1.
        epoch: u32,
        /// The publisher.
        source: Arc<Source>,
    },
    /// The publisher was replaced by another, whose epoch begins next.
    TakenOver {
        /// The epoch that has ended.
        epoch: u32,
        /// The publisher that was replaced.
        source: Arc<Source>,
    },
    /// The publisher has announced its tracks, or other ones.
    TracksChanged {
        /// The epoch they belong to.
        epoch: u32,
        /// All of them, in the order they appeared.
        tracks: Arc<[Arc<Track>]>,
    },
    /// The title has changed.
    TitleChanged {
        /// `None` when it was cleared.
        title: Option<Arc<Title>>,
    },
    /// The publisher is gone; the stream lingers.
    PublisherLeft {
        /// The epoch that has ended.
        epoch: u32,
        /// How long listeners are kept for the next publisher.
        linger: Duration,
    },
    /// The stream is over.
    Ended {
        /// Why.
        reason: EndReason,
    },
    /// What is heard while the publisher is away has begun, has ended or cannot be heard.
    Fallback {
        /// The stream that it is.
        fallback: StreamName,
        /// `began`, `refused`, `returned`, `ended` or `unwanted`.
        outcome: &'static str,
    },
    /// What may be wrong with the publisher's sound has begun, or has ended.
    Sound {
        /// `silence` or `clipping`.
        condition: &'static str,
        /// `began` or `ended`.
        outcome: &'static str,
    },
    /// A listener was given a lane.
    ListenerJoined {
        /// Which one.
        listener: ListenerId,
        /// What it listens to.
        format: Format,
        /// Where it connects from.
        peer: SocketAddr,
    },
    /// A listener is gone.
    ListenerLeft {
        /// Which one.
        listener: ListenerId,
        /// Its protocol.
        protocol: Protocol,
        /// Why.
        reason: Reason,
        /// Bytes it was sent.
        sent_bytes: u64,
        /// How often it was moved forward.
        skips: u32,
        /// How long it was there, from its request.
        lasted: Duration,
    },
    /// A listener was moved forward because it, or the server, fell behind.
    Degraded {
        /// Which one.
        listener: ListenerId,
    },
    /// A listener that was degraded has not been moved for a while. One that leaves does not recover first.
    Recovered {
        /// Which one.
        listener: ListenerId,
    },
    /// A publisher, a listener or a connection was turned away.
    Refused(Refusal),
    /// A link to another server passes its stream on.
    LinkUp {
        /// `push` or `pull`.
        direction: &'static str,
        /// The other server, without secrets.
        url: Arc<str>,
    },
    /// A link to another server has stopped passing its stream on, or failed before it ever did. Emitted once,
    /// however often it fails again.
    LinkDown {
        /// `push` or `pull`.
        direction: &'static str,
        /// The other server, without secrets.
        url: Arc<str>,
        /// What failed, without secrets; `None` when it ended in order. May hold untrusted text.
        error: Option<Arc<str>>,
    },
}

impl EventKind {
    /// What it is about.
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
            Self::Sound { .. } => Topic::Sound,
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
    /// The kinds of events by name, for subscribers that choose among them.
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
        /// [`EventKind::Sound`].
        Sound = "sound",
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
    /// Why a stream is over.
    pub enum EndReason {
        /// Its publisher left and none came within its linger time.
        Abandoned = "abandoned",
        /// The operator ended it.
        Operator = "operator",
        /// It came on demand, and has no listeners any more.
        Unwanted = "unwanted",
        /// The server ends.
        Shutdown = "shutdown",
    }
}

#[cfg(test)]
mod tests;
