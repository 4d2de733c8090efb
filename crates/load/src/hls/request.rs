//! What a player asks for, and what becomes of it.

use super::playlist::ByteRange;

/// What is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Without the first slash; with the query.
    pub(super) path: String,
    pub(super) range: Option<ByteRange>,
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("status {0}")]
    Status(u16),
    /// There is no answer.
    #[error("{0}")]
    Broken(String),
}

/// What has been fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    /// What describes media.
    Map,
    /// A part or a segment that was there before the player came.
    Past,
    /// Media that is new.
    Live {
        /// When the first byte of the blocking answer came that lists it; `None` if it was requested before.
        listed: Option<u64>,
        /// When its last sample ended, wall clock since 1970, if the playlist says so.
        ends: Option<u64>,
    },
}

impl Failure {
    /// Whether the server may be able to answer soon.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Status(500..))
    }
}
