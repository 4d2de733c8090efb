//! Errors of a peer, and the only mapping of them to status codes.

use thiserror::Error;

use crate::Status;

/// Reason why a head or a chunked body was refused.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    // The peer broke the protocol.
    /// The first line is not `METHOD target version`.
    #[error("the request line is malformed")]
    RequestLineMalformed,
    /// A header line has no colon, or no valid name before it.
    #[error("a header line is malformed")]
    HeaderMalformed,
    /// A header line continues the one before it (obs-fold, RFC 9112 §5.2).
    #[error("a header line is folded")]
    HeaderFolded,
    /// The head contains a NUL, or a CR that ends no line.
    #[error("a control byte stands in the head")]
    ControlByte,
    /// A line does not end with CR LF (see [`Head::conforms`](crate::Head::conforms)).
    #[error("a line does not end with CR LF")]
    LineEndMalformed,
    /// More than one empty line precedes the request line (RFC 9112 §2.2).
    #[error("empty lines stand before the request")]
    EmptyLines,
    /// The target has none of the forms of RFC 9112 §3.2.
    #[error("the request target is malformed")]
    TargetMalformed,
    /// HTTP/1.1 without a Host header (RFC 9112 §3.2).
    #[error("the Host header is missing")]
    HostMissing,
    /// The Host header is given twice, or contradicts the target (RFC 9112 §3.2).
    #[error("the Host header contradicts itself or the target")]
    HostConflict,
    /// Content-Length is not one decimal number that fits 64 bits.
    #[error("Content-Length is malformed")]
    ContentLengthMalformed,
    /// Content-Length is given twice.
    #[error("Content-Length is given twice")]
    ContentLengthRepeated,
    /// Content-Length and Transfer-Encoding are both given (RFC 9112 §6.1).
    #[error("both Content-Length and Transfer-Encoding are given")]
    LengthAndCoding,
    /// Transfer-Encoding is given in a version that does not have it (RFC 9112 §6.1).
    #[error("Transfer-Encoding is given before HTTP/1.1")]
    CodingBeforeHttp11,
    /// A chunk's size line, its end, or a trailer is malformed.
    #[error("the chunked body is malformed")]
    ChunkMalformed,

    // The peer exceeded a limit.
    /// The head is longer than [`HeadLimits::bytes_max`](crate::HeadLimits::bytes_max).
    #[error("the head is too long")]
    HeadTooLong,
    /// The head has more than [`HeadLimits::lines_max`](crate::HeadLimits::lines_max) headers.
    #[error("the head has too many lines")]
    LinesTooMany,
    /// A chunk announces a size that does not fit 64 bits.
    #[error("a chunk is too large")]
    ChunkTooLarge,
    /// A chunk's size line with its extensions is too long.
    #[error("a chunk's size line is too long")]
    ChunkLineTooLong,
    /// The trailer section of a chunked body is too long.
    #[error("the trailers are too long")]
    TrailersTooLong,

    // The peer speaks another protocol.
    /// A transfer coding other than `chunked`.
    #[error("the transfer coding is not supported")]
    CodingUnsupported,
    /// The version is none of HTTP/1.x, ICE/1.0 and x-audiocast.
    #[error("the protocol version is not supported")]
    VersionUnsupported,
}

/// Returns the status for an error; this is the only place that decides it.
///
/// The door itself detects a head that does not arrive in time, and replies with [`Status::REQUEST_TIMEOUT`].
pub const fn status_of(error: Error) -> Status {
    match error {
        Error::RequestLineMalformed
        | Error::HeaderMalformed
        | Error::HeaderFolded
        | Error::ControlByte
        | Error::LineEndMalformed
        | Error::EmptyLines
        | Error::TargetMalformed
        | Error::HostMissing
        | Error::HostConflict
        | Error::ContentLengthMalformed
        | Error::ContentLengthRepeated
        | Error::LengthAndCoding
        | Error::CodingBeforeHttp11
        | Error::ChunkMalformed => Status::BAD_REQUEST,
        Error::ChunkTooLarge | Error::ChunkLineTooLong => Status::CONTENT_TOO_LARGE,
        Error::HeadTooLong | Error::LinesTooMany | Error::TrailersTooLong => {
            Status::HEADER_FIELDS_TOO_LARGE
        }
        Error::CodingUnsupported => Status::NOT_IMPLEMENTED,
        Error::VersionUnsupported => Status::VERSION_NOT_SUPPORTED,
    }
}
