//! Container formats: bytes to samples and back.
//!
//! Everything here is pure: bytes in, [`media::Item`]s out, or the reverse. There is no clock, no socket and no task.
//! Every buffer is bounded, and any input from a source produces items or nothing, never a panic.
//!
//! * [`Sniffer`] detects what an Icecast source delivers, and [`Demuxer`] frames it: MP3, ADTS, Ogg, WebM, or anything
//!   else.
//! * [`flv`] reads and writes FLV, for RTMP and for `/{stream}.flv`.
//! * [`fmp4`] writes fragmented MP4, for `/{stream}.mp4`.
//! * [`mp3_file`] turns MP3 frames into a file.
//! * [`mp4_file`] handles MP4 files: their beginning, their whole part and their index, for recordings and for playback
//!   on demand.
//! * [`rtp`] packetizes and depacketizes media for WebRTC.
//! * [`ts`] handles MPEG transport streams, for set-top boxes and the older half of HTTP Live Streaming.
//! * [`adts`] adds headers to bare AAC, [`icy`] inserts titles between frames, [`id3`] writes tags and reads those of
//!   files, and [`scte35`] reads and writes splice instructions for breaks.

pub mod adts;
pub mod flv;
pub mod fmp4;
pub mod frames;
pub mod icy;
pub mod id3;
pub mod mp3_file;
pub mod mp4_file;
pub mod ogg;
pub mod raw;
pub mod rtp;
pub mod scte35;
pub mod ts;
pub mod webm;

mod crc;
mod demuxer;
mod joins;
mod search;
mod sniff;
#[cfg(test)]
mod testing;
mod timeline;
mod walk;

pub use demuxer::Demuxer;
pub use search::{Place, Search};
pub use sniff::{Found, Sniffer, Unknown};
pub use walk::{Closed, Walk, Walker};
