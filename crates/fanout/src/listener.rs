//! What names a listener, and what is said of it while it is there and when it is gone.

use media::Span;

use crate::cursor::Reason;

/// Names a listener for the life of the process.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ListenerId(pub u64);

/// How one listener fares.
#[derive(Clone, Debug)]
pub struct ListenerReport {
    /// Which one.
    pub id: ListenerId,
    /// Whether it has yet to connect, and may never.
    pub is_waiting: bool,
    /// Bytes its socket has taken, the response head included.
    pub sent_bytes: u64,
    /// How often it was moved forward.
    pub skips: u32,
    /// How far behind it is; `None` when it is further behind than the log reaches back.
    pub lag: Option<Span>,
}

/// A listener that is gone.
#[derive(Clone, Debug)]
pub struct Departure {
    /// Which one.
    pub id: ListenerId,
    /// Why.
    pub reason: Reason,
    /// Bytes its socket had taken.
    pub sent_bytes: u64,
    /// How often it was moved forward.
    pub skips: u32,
}
