//! Fragmented MP4, which browsers append to a `MediaSource` and of which HLS segments consist.
//!
//! ```text
//! preamble: ftyp │ moov        log: moof mdat │ moof mdat │ moof mdat │ …
//!                                   └ join: begins with a keyframe
//! ```
//!
//! [`Muxer`] turns a stream's items into units, each a fragment with the first video track and the first audio track
//! that MP4 can carry; its [`FragmentSink`] writes them. [`can_mux`], [`codec_string`] and [`media_type`] describe how a stream
//! is available as MP4.
//!
//! A fragment ends before each keyframe, and so may have a single frame. GStreamer's `qtdemux` (1.22) then reports no
//! frame rate, upon which its AV1 decoder restarts within a group, and fails or loses frames; the same happens with
//! files that ffmpeg has cut like that. Its other decoders, and other players, show every frame.
//!
//! The boxes are written here and not by a library: codecs' records go into them unchanged, the fragments are the data
//! path, and the rest is two hundred lines of constants.
//!
//! [`Collected`] is the boundary between the content of a fragment and its encoding: a sink may put the samples into
//! another container, which then has the same parts, or write an [`event_message`] first.
//!
//! Sources: ISO/IEC 14496-12 (boxes), 14496-14 and -15 (AAC, H.264, HEVC), 23000-19 (CMAF); the
//! ISOBMFF bindings of AV1, VP9, Opus and FLAC; ETSI TS 102 366 annex F (AC-3).

pub(crate) mod boxes;
mod carried;
mod clock;
mod collected;
pub(crate) mod entry;
mod event;
mod fragment;
mod init;
mod muxer;
mod name;
pub(crate) mod parts;
mod sink;
mod still;

#[cfg(test)]
pub(crate) mod tests;

pub use collected::{Collected, MediaTime};
pub use event::{event_message, tag_message};
pub use muxer::Muxer;
pub use name::{can_file, can_mux, codec_string, media_type};
pub use sink::{Content, FRAGMENT_SPAN, FragmentCandidate, FragmentSink, Init, Turn, Unit};
pub use still::still;

/// Track numbers in every initialization segment, whatever the tracks' numbers in the stream.
const PICTURE_ID: u32 = 1;
const AUDIO_ID: u32 = 2;

/// Units of a video track's clock per second: milliseconds are whole, and so are frames at 24, 25, 30, 50 and 60 a
/// second and at 30,000/1,001. Audio counts samples.
const PICTURE_TIMESCALE: u32 = 90_000;
