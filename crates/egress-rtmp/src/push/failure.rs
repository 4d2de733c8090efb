//! Why a push failed.

use std::io;

use ::rtmp::client;
use fanout::LaneRefused;
use net::link::ConnectError;

/// What ended a connection to a target. The texts show no secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    // The target.
    /// It does not speak RTMP, or refuses.
    #[error("{0}")]
    Rtmp(#[from] client::Error),
    /// It ended the stream.
    #[error("the target ended the stream ({0})")]
    Ended(String),
    /// It closed the connection.
    #[error("the target closed the connection")]
    HungUp,
    /// It asks for a proof of the password again and again.
    #[error("the target does not take the password")]
    Password,
    /// It assigned a message stream that there is no lane for.
    #[error("the target gave out message stream {0}, which is more than is supported")]
    MessageStream(u32),
    /// It takes less than the stream brings.
    #[error("the target takes the stream too slowly")]
    Slow,

    // The stream, or this server.
    /// The push fell too far behind the stream, or its listener was removed.
    #[error("the push fell behind its stream, or was ended by hand")]
    Dropped,
    /// RTMP cannot carry it.
    #[error("the stream's format cannot be sent over RTMP")]
    Format,
    /// The stream has no lane for it.
    #[error("{0}")]
    Lane(#[from] LaneRefused),

    // The environment.
    /// There is no connection.
    #[error("{0}")]
    Connect(#[from] ConnectError),
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
}
