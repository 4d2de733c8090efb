//! FLV on disk, over HTTP, and inside RTMP messages.
//!
//! An RTMP audio or video message body is an FLV tag body, so [`Depacketizer`] serves both RTMP ingest and [`Reader`].
//! [`Muxer`] works in the other direction: it decides which [`Tag`]s a stream consists of and where a listener may
//! join, and leaves the framing to the format's packager.
//!
//! Sources: Adobe FLV and F4V specification 10.1, annex E; Enhanced RTMP v2 (Veovera).

mod amf;
mod body;
mod codec;
mod depacketize;
mod event;
mod file;
mod multitrack;
mod muxer;
mod prelude;
mod read;
pub mod recorded;
mod split;
mod tag;
mod whole;

#[cfg(test)]
mod tests;

pub use body::is_multitrack;
pub use depacketize::{CONFIG_BYTES_MAX, Depacketizer, WIRE_TRACKS_MAX};
pub use file::{FILE_HEAD_BYTES, FileHead, Search, TagHead};
pub use muxer::{Muxer, Opening, Selection, TagSink, can_mux};
pub use read::{ReadError, Reader, SCRIPT_BODY_BYTES_MAX, TAG_BODY_BYTES_MAX};
pub use split::{MultitrackError, split};
pub use tag::{BODY_BYTES_MAX, FILE_HEADER_BYTES, Tag, TagKind, carries, file_header};

/// Tag types, which are also the RTMP message types of the same media.
const TAG_AUDIO: u8 = 8;
const TAG_VIDEO: u8 = 9;
const TAG_SCRIPT: u8 = 18;

/// Bytes before a tag's body.
const TAG_HEADER_BYTES: usize = 11;
/// Bytes after the body: the tag's size again, for reading backwards.
const TAG_TRAILER_BYTES: usize = 4;

/// Codec numbers of `VideoTagHeader` and `AudioTagHeader`.
const VIDEO_AVC: u8 = 7;
const AUDIO_MP3: u8 = 2;
const AUDIO_AAC: u8 = 10;
const AUDIO_MP3_8K: u8 = 14;

/// Values of `AVCPacketType` and `AACPacketType`, which agree.
const PACKET_SEQUENCE_HEADER: u8 = 0;
const PACKET_CODED: u8 = 1;
