//! The chunk stream (RTMP 1.0 §5.3): messages cut in chunks, several messages interleaved.
//!
//! ```text
//!  basic header        message header (by format)                       extended   payload
//!  fmt:2 csid:6        0: time 3, length 3, type 1, stream id 4 (LE)    time 4,    up to the
//!  0 + 1 byte          1: delta 3, length 3, type 1                     if the 3   chunk size
//!  1 + 2 bytes         2: delta 3              3: nothing               are ff
//! ```
//!
//! [`Reader`] accepts every form of it; [`write()`] writes the one form that depends on nothing sent before.

mod reader;
mod writer;

pub use reader::{Limits, Reader};
pub use writer::{Header, write, write_parts};

/// Chunk size with which both sides begin, in bytes.
pub const CHUNK_SIZE_INITIAL: u32 = 128;
/// Chunk size of everything that the server sends, in bytes. The bytes of a stream are cut once and shared by
/// all its players, so all of them must have received the same size. It is the largest that any server was
/// known to use, and every client accepts it; nearly all frames fit in one chunk.
pub const CHUNK_SIZE_SHARED: u32 = 65_536;
/// Largest chunk size that makes sense, in bytes: no message is longer.
pub const CHUNK_SIZE_MAX: u32 = 0xff_ffff;
/// Most chunk streams that a peer may use. Encoders use three to six; a table this long is still searched
/// quickly.
pub const CHUNK_STREAMS_MAX: usize = 64;
/// Most messages that a peer may leave unfinished: one each of audio, video, data, command and control, and
/// room for devices with more tracks.
pub const PARTIAL_MESSAGES_MAX: usize = 8;
/// Most chunks that a message may be cut into, which bounds the work caused by a small chunk size: the
/// largest message at the initial chunk size.
pub const CHUNKS_PER_MESSAGE_MAX: u32 = MEDIA_MESSAGE_MAX / CHUNK_SIZE_INITIAL;
/// Longest audio, video or aggregate message, in bytes: a keyframe of 8 MiB is 64 Mb at once, beyond any live
/// encoder.
pub const MEDIA_MESSAGE_MAX: u32 = 8 << 20;
/// Longest data message, in bytes; metadata with a file's keyframe table is the largest seen.
pub const DATA_MESSAGE_MAX: u32 = 256 << 10;
/// Longest message of any other type, in bytes; a `connect` is below 1 KiB.
pub const COMMAND_MESSAGE_MAX: u32 = 64 << 10;

/// Value of the 3-byte time field which announces that the time follows in 4 bytes.
const EXTENDED: u32 = 0xff_ffff;
/// Longest header: 3 bytes of the basic header, 11 of the message header, 4 of extended time.
const HEADER_BYTES_MAX: usize = 18;

#[cfg(test)]
mod tests;
