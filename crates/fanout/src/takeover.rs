//! Who may replace a publisher, and why one is refused.

use std::time::Duration;

/// What a publisher may do about another one that has the stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Takeover {
    /// Replace it if it presented the same credential; otherwise only if it has stalled.
    SameCredential,
    /// Replace it if it has sent nothing for [`STALLED_AFTER`].
    Stalled,
    /// Wait until it has left.
    Never,
}

/// A publisher that has sent nothing for this long may be replaced.
pub const STALLED_AFTER: Duration = Duration::from_secs(3);

/// A stream changes hands by takeover at most this often, so that two encoders which share a key and
/// reconnect by themselves do not tear it apart.
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

/// Why a publisher was refused.
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
    /// There are as many streams as there may be.
    #[error("the limit of publishers is reached")]
    TooMany,
    /// The stream ended at this very moment; trying again helps.
    #[error("the stream is ending")]
    Ended,
}
