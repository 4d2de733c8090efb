//! Container formats: bytes to samples and back.
//!
//! Everything here is pure: bytes in, [`media::Item`]s out, or the other way round. There is no clock, no
//! socket and no task; every buffer has a bound, and any input of a source results in items or nothing, never
//! in a panic.
//!
//! * [`Sniffer`] finds out what an Icecast source delivers, and [`Demuxer`] frames it: MP3, ADTS, Ogg, WebM,
//!   or anything else.
//! * [`flv`] is what RTMP carries and what `/{stream}.flv` is made of.
//! * [`fmp4`] is what `/{stream}.mp4` is made of.
//! * [`mp3_file`] is what becomes of frames of MP3 in a file.
//! * [`mp4_file`] is what becomes of that in a file: its beginning, its whole part, and its index; and what is played
//!   on demand.
//! * [`rtp`] is what WebRTC carries.
//! * [`ts`] is what set-top boxes, and the older half of HTTP Live Streaming, use.
//! * [`adts`] puts headers before bare AAC, [`icy`] puts titles between frames, [`id3`] writes tags
//!   and reads those of files, [`scte35`] reads and writes the instructions for breaks.

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
