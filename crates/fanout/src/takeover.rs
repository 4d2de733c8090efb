//! Rules for replacing a publisher, and the reasons for refusing one.

use std::time::Duration;

/// A publisher's right to replace another one that has the stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Takeover {
    /// The publisher may replace one that presented the same credential; any other only if that one has stalled.
    SameCredential,
    /// The publisher may replace one that has sent nothing for [`STALLED_AFTER`].
    Stalled,
    /// The publisher must wait until the other one has left.
    Never,
}

/// Time without media after which a publisher may be replaced.
pub const STALLED_AFTER: Duration = Duration::from_secs(3);

/// Shortest time between two takeovers of a stream, so that two encoders which share a key and reconnect automatically
/// do not tear it apart.
pub(crate) const TAKEOVER_INTERVAL: Duration = Duration::from_secs(1);

impl Takeover {
    pub(crate) fn permits(self, same_credential: bool, silent_for: Duration) -> bool {
        match self {
            Self::SameCredential => same_credential || silent_for >= STALLED_AFTER,
            Self::Stalled => silent_for >= STALLED_AFTER,
            Self::Never => false,
        }
    }
}

/// Reasons for refusing a publisher.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PublishRefused {
    /// Another publisher has the stream.
    #[error("the stream is being published by another client")]
    Busy,
    /// Another publisher has replaced this very one, and is sending.
    #[error("another publisher has replaced this one and is sending; end that one first")]
    Replaced,
    /// An operator has blocked the stream; this many seconds are left.
    #[error("the operator has ended this stream; it may be published again in {0} s")]
    Blocked(u64),
    /// The server has as many streams as it may.
    #[error("the limit of publishers is reached")]
    TooMany,
    /// The stream ended at this very moment; trying again helps.
    #[error("the stream is ending")]
    Ended,
}
