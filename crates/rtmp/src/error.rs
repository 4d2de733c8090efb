//! Errors that end a connection, sorted by blame, and the reply that the peer receives.

use crate::{amf0, message::Kind};

/// Reason why a connection cannot continue. Variants name the peer's action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // The peer broke the protocol.
    /// C0 names another protocol version: 6 and 8 are RTMPE, others are no RTMP at all.
    #[error("handshake version {0}, where 3 was expected")]
    HandshakeVersion(u8),
    /// A chunk relies on an earlier header of its chunk stream, and there was none.
    #[error("chunk of format {format} opens chunk stream {csid}")]
    UnknownChunkStream {
        /// Chunk stream.
        csid: u32,
        /// Header format, 2 or 3.
        format: u8,
    },
    /// A full header arrived before the message in progress was complete.
    #[error("new message header inside a message on chunk stream {csid}")]
    HeaderInsideMessage {
        /// Chunk stream.
        csid: u32,
    },
    /// SetChunkSize with size zero.
    #[error("chunk size zero")]
    ChunkSizeZero,
    /// A protocol control message without its fixed fields.
    #[error("{kind:?} message of {length} bytes")]
    ShortControlMessage {
        /// Type of the message.
        kind: Kind,
        /// Length of the message in bytes.
        length: usize,
    },
    /// A command whose AMF0 cannot be read.
    #[error("malformed command: {0}")]
    MalformedCommand(#[from] amf0::Error),
    /// A command other than `connect` came first.
    #[error("command before connect")]
    CommandBeforeConnect,

    // The peer exceeds a limit.
    /// A message announced more bytes than its type may have.
    #[error("{kind:?} message of {length} bytes, at most {max} are accepted")]
    MessageTooLong {
        /// Type of the message.
        kind: Kind,
        /// Announced length, in bytes.
        length: u32,
        /// Largest accepted length, in bytes.
        max: u32,
    },
    /// One message was cut into more than
    /// [`CHUNKS_PER_MESSAGE_MAX`](crate::chunk::CHUNKS_PER_MESSAGE_MAX) chunks.
    #[error("message in too many chunks on chunk stream {csid}")]
    TooManyChunks {
        /// Chunk stream.
        csid: u32,
    },
    /// More chunk streams than [`chunk::CHUNK_STREAMS_MAX`](crate::chunk::CHUNK_STREAMS_MAX).
    #[error("too many chunk streams")]
    TooManyChunkStreams,
    /// More messages begun than [`chunk::PARTIAL_MESSAGES_MAX`](crate::chunk::PARTIAL_MESSAGES_MAX).
    #[error("too many unfinished messages")]
    TooManyPartialMessages,
    /// The unfinished messages together hold too many bytes.
    #[error("unfinished messages hold more than {max} bytes")]
    TooManyPartialBytes {
        /// Largest accepted sum, in bytes.
        max: usize,
    },
    /// The peer causes replies and does not read them.
    #[error("replies are not being read")]
    RepliesUnread,

    // The peer was too slow.
    /// The handshake did not finish in time.
    #[error("handshake timed out")]
    HandshakeTimeout,
    /// The handshake was followed by no request to publish or play.
    #[error("no publish or play request in time")]
    RequestTimeout,
}

/// Party to blame for an [`Error`], for metrics and log levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The peer broke the protocol.
    Protocol,
    /// The peer exceeded a limit of this side.
    Limit,
    /// The peer let a deadline pass.
    Timeout,
}

impl Error {
    /// Returns the party to blame.
    pub fn blame(&self) -> Blame {
        match self {
            Self::HandshakeVersion(_)
            | Self::UnknownChunkStream { .. }
            | Self::HeaderInsideMessage { .. }
            | Self::ChunkSizeZero
            | Self::ShortControlMessage { .. }
            | Self::MalformedCommand(_)
            | Self::CommandBeforeConnect => Blame::Protocol,
            Self::MessageTooLong { .. }
            | Self::TooManyChunks { .. }
            | Self::TooManyChunkStreams
            | Self::TooManyPartialMessages
            | Self::TooManyPartialBytes { .. }
            | Self::RepliesUnread => Blame::Limit,
            Self::HandshakeTimeout | Self::RequestTimeout => Blame::Timeout,
        }
    }

    /// Returns the NetConnection code of the status for the peer, or `None` if it receives no status: a peer
    /// that never used RTMP, and one that reads no replies. The error's text is sent with it; of the peer's
    /// data it holds only numbers.
    pub(crate) fn reply(&self) -> Option<&'static str> {
        match self {
            Self::HandshakeVersion(_) | Self::HandshakeTimeout | Self::RepliesUnread => None,
            Self::RequestTimeout => Some("NetConnection.Connect.IdleTimeOut"),
            _ => Some("NetConnection.Connect.Rejected"),
        }
    }
}
