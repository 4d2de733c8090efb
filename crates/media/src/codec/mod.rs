//! Codec configuration and frame headers: pure parsers, one file per codec.
//!
//! Every parser takes the bytes that have arrived and returns `None` when there are too few or they are of another
//! kind; none of them allocates by a length that the input merely claims.

pub mod aac;
pub mod av1;
pub mod captions;
pub mod dolby;
pub mod flac;
pub mod h264;
pub mod hevc;
pub mod mpeg_audio;
pub mod nal;
pub mod opus;
pub mod sei;
pub mod vp8;
pub mod vp9;

mod bits;
