//! AAC and MP3 to Opus: audio for listeners that accept nothing else.
//!
//! ```text
//!  samples ─► decoder ─► concealment ─► resampler ─► encoder ─► samples
//!  AAC, MP3   symphonia  of bad frames  to 48 kHz    libopus    Opus, 20 ms
//! ```
//!
//! * [`Transcoder`] is one stream's chain. It is sans-IO: a track and samples go in, samples come out; there is no clock and no
//!   thread. The same input gives the same output.
//! * [`Pool`] is a fixed number of threads that run the transcoders of many streams. A stream's [`Feed`] is bounded and never
//!   blocks: a stream that falls behind loses audio, which is counted.
//!
//! Output is always 48 kHz with two channels, as WebRTC signals it (RFC 7587 §7), so the output track stays the same whatever
//! the source changes to. Mono sources become mono packets, which decode to the same audio on both channels.
//!
//! # Limits
//!
//! High-efficiency AAC is decoded by its AAC-LC core alone: the upper half of the spectrum is lost, and with parametric stereo
//! the second channel ([`Caveat`]). Audio with more than two channels, AAC other than AAC-LC, and unusual rates are refused
//! ([`Unsupported`]). Both types have texts that suit a page or a log.

mod clock;
mod conceal;
mod decoder;
mod encoder;
mod meter;
mod options;
mod pool;
mod resample;
mod segment;
mod stats;
#[cfg(test)]
mod tests;
mod transcoder;
mod verdict;

pub use decoder::examine;
pub use meter::{Loudness, Meter};
pub use options::Options;
pub use pool::{Feed, Monitor, OpusSink, Pool, Report, State};
pub use stats::Stats;
pub use transcoder::Transcoder;
pub use verdict::{Caveat, Unsupported};

use media::Span;

/// One sample instant on two channels; mono has the same value twice.
type Frame = [f32; 2];

/// Samples per second of everything after the resampler.
const OUTPUT_RATE: u32 = 48_000;

/// Frames in an Opus packet: 20 ms, as browsers send themselves.
const PACKET_FRAMES: usize = 960;

/// Playing time of an Opus packet.
pub(crate) const PACKET: Span = Span::from_samples(PACKET_FRAMES as u64, OUTPUT_RATE);
