//! Why a connection to another server cannot go on.

/// What ended a client session. The texts hold no part of the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server broke the protocol, or a limit of ours.
    #[error("{0}")]
    Protocol(#[from] crate::Error),
    /// The server refused.
    #[error("{code}: {description}")]
    Refused {
        /// The status code, `NetStream.Publish.BadName`. At most 64 printable characters, and withheld
        /// as the description is.
        code: String,
        /// The server's reason; untrusted text, at most 256 printable characters, and withheld if it
        /// repeats a secret of the address.
        description: String,
    },
    /// The server created no message stream that could be used.
    #[error("the server gave out message stream {0}")]
    StreamId(u32),
    /// The handshake did not finish in time.
    #[error("the server did not finish the handshake in time")]
    HandshakeTimeout,
    /// A command was not answered in time.
    #[error("the server did not answer {0} in time")]
    NoAnswer(&'static str),
}
