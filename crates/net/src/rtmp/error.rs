//! Errors that end a connection before it requested a stream.

use std::io;

/// Reason why a connection ended that did not simply hang up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The peer broke RTMP, or let a deadline of the session pass.
    #[error("{0}")]
    Rtmp(#[from] rtmp::Error),
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
}
