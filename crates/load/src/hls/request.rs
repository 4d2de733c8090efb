//! Requests of a player, and their results.

use super::playlist::ByteRange;

/// A request for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Path without its first slash, and with the query.
    pub(super) path: String,
    pub(super) range: Option<ByteRange>,
}

/// Reasons why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("status {0}")]
    Status(u16),
    /// There is no response.
    #[error("{0}")]
    Broken(String),
}

/// Kind of a fetched resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    /// A description of media.
    Map,
    /// A part or a segment that existed before the player came.
    Past,
    /// Media that is new.
    Live {
        /// Time at which the first byte of the blocking response arrived that lists it; `None` if it was requested before.
        listed: Option<u64>,
        /// Wall clock at which its last sample ended, in nanoseconds since 1970, if the playlist contains it.
        ends: Option<u64>,
    },
}

impl Failure {
    /// Returns whether the server may be able to answer soon.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Status(500..))
    }
}
