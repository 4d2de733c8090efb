//! Errors that end a connection to another server.

/// Reason why a client session ended. The texts hold no part of the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server broke the protocol, or a limit of this client.
    #[error("{0}")]
    Protocol(#[from] crate::Error),
    /// The server refused.
    #[error("{code}: {description}")]
    Refused {
        /// Status code, such as `NetStream.Publish.BadName`. At most 64 printable characters, and withheld
        /// under the same condition as the description.
        code: String,
        /// Reason given by the server; untrusted text, at most 256 printable characters, and withheld if it
        /// repeats a secret of the address.
        description: String,
    },
    /// The server created no usable message stream.
    #[error("the server gave out message stream {0}")]
    StreamId(u32),
    /// The handshake did not finish in time.
    #[error("the server did not finish the handshake in time")]
    HandshakeTimeout,
    /// A command was not answered in time.
    #[error("the server did not answer {0} in time")]
    NoAnswer(&'static str),
}
