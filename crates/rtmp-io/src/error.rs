//! Why a connection ended before it asked for a stream.

use std::io;

/// What ended a connection that did not simply hang up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The peer broke RTMP, or let a deadline of the session pass.
    #[error("{0}")]
    Rtmp(#[from] rtmp::Error),
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
}
