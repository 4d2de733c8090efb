//! Identity of a listener, and reports about it while it is present and after it has left.

use media::Span;

use crate::cursor::Reason;

/// Identifier of a listener, unique for the life of the process.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ListenerId(pub u64);

/// Current state of one listener.
#[derive(Clone, Debug)]
pub struct ListenerReport {
    /// The listener.
    pub id: ListenerId,
    /// Whether it has yet to connect, and may never.
    pub is_waiting: bool,
    /// Bytes its socket has taken, including the response head.
    pub sent_bytes: u64,
    /// Number of times it was moved forward.
    pub skips: u32,
    /// Span by which it is behind; `None` if it is further behind than the log reaches back.
    pub lag: Option<Span>,
}

/// A listener that has left.
#[derive(Clone, Debug)]
pub struct Departure {
    /// The listener.
    pub id: ListenerId,
    /// Reason of its departure.
    pub reason: Reason,
    /// Bytes its socket had taken.
    pub sent_bytes: u64,
    /// Number of times it was moved forward.
    pub skips: u32,
}
