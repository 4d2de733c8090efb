//! Reasons why a push fails.

use std::io;

use ::rtmp::client;
use fanout::LaneRefused;
use net::link::ConnectError;

/// Reason why a connection to a target ended. The texts show no secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    // The target.
    /// The target does not use RTMP, or refuses.
    #[error("{0}")]
    Rtmp(#[from] client::Error),
    /// The target ended the stream.
    #[error("the target ended the stream ({0})")]
    Ended(String),
    /// The target closed the connection.
    #[error("the target closed the connection")]
    HungUp,
    /// The target requests a proof of the password again and again.
    #[error("the target does not take the password")]
    Password,
    /// The target assigned a message stream that there is no lane for.
    #[error("the target gave out message stream {0}, which is more than is supported")]
    MessageStream(u32),
    /// The target takes less than the stream brings.
    #[error("the target takes the stream too slowly")]
    Slow,

    // The stream, or this server.
    /// The push fell too far behind the stream, or its listener was removed.
    #[error("the push fell behind its stream, or was ended by hand")]
    Dropped,
    /// RTMP cannot carry the stream.
    #[error("the stream's format cannot be sent over RTMP")]
    Format,
    /// The stream has no lane for the push.
    #[error("{0}")]
    Lane(#[from] LaneRefused),

    // The environment.
    /// No connection could be made.
    #[error("{0}")]
    Connect(#[from] ConnectError),
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
}
