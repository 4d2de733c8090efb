//! MPEG transport stream (ISO/IEC 13818-1): items in, packets of 188 bytes out; and back, by a [`Demuxer`], what was
//! recorded so.
//!
//! ```text
//! unit: [PAT│PMT]  [clock]  PES packet in TS packets        log: unit │ unit │ unit …
//!        │         └ a packet of its own where the PES is not    └ join: a keyframe; with sound
//!        │           of the track that carries the clock           alone: wherever tables are
//!        └ in every join, and every 400 ms
//! ```
//!
//! * One program. A track's PID follows from its codec and its number, so that it is the same in
//!   every epoch, and another when the codec changes: players do not expect one PID to turn into
//!   something else.
//! * Continuity counters run through the log without a hole, across epochs.
//! * A join begins with the tables, and its picture with parameter sets. A joiner needs no
//!   preamble. HTTP Live Streaming segments begin likewise, where their writer wants them to
//!   ([`Muxer::begin_segment`]).
//! * The program clock reference is the time that items carry, and everything is decoded
//!   [`CLOCK_LEAD`] later.
//! * Events have PIDs of their own, declared with the first of them: ID3 tags as timed metadata, and splice
//!   information, whose times are moved onto this stream's.
//! * Frames of sound share PES packets ([`Muxer`] says for how long they wait for each other), and
//!   what is held is written before any picture that is not earlier.
//!
//! A listener that skips ahead sees a gap in the continuity counters of each PID. ISO/IEC 13818-1 §2.4.3.5
//! has a flag for that, in a packet without payload before the first one after the gap. It is not sent:
//! ffmpeg and GStreamer decode the same with it and without, and VLC 3, whose table reader reports the gap
//! anyway, loses three frames of sound with it instead of one.
//!
//! Everything is pure and bounded: [`TRACKS_MAX`] tracks, and 32 KiB of sound held for each. Pictures are
//! copied only into the packet being filled.

mod clock;
mod decoding;
mod demuxer;
mod events;
pub mod file;
mod frames;
mod muxer;
mod opus;
mod packet;
mod pes;
mod picture;
mod program;
mod search;
mod sound;
mod stream;
mod tables;

#[cfg(test)]
mod tests;

use media::{Timestamp, Track};

pub use clock::CLOCK_LEAD;
pub use demuxer::Demuxer;
pub use muxer::{Muxer, TRACKS_MAX};
pub use packet::{NULL_PACKET, PACKET_BYTES};
pub use stream::Unsupported;

/// The media type of a transport stream (RFC 3555).
pub const MEDIA_TYPE: &str = "video/mp2t";

/// Where a muxer writes.
pub trait Sink {
    /// Appends a packet to the open unit.
    fn packet(&mut self, packet: &[u8; PACKET_BYTES]);

    /// Ends the open unit, whose time is `at`; with `join`, a listener may start at it.
    fn end_unit(&mut self, at: Timestamp, join: Option<JoinPoint>);
}

/// The description of a unit that a listener may start at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct JoinPoint {
    /// Changes with the tracks and at an epoch: where HTTP Live Streaming wants a discontinuity.
    pub generation: u32,
}

/// Whether a [`Muxer`] can carry `track`.
///
/// # Errors
/// The reason if it cannot.
pub fn check(track: &Track) -> Result<(), Unsupported> {
    stream::Stream::new(track).map(drop)
}

/// Whether a [`Muxer`] can carry `track`; [`check`] gives the reason if not.
pub fn can_mux(track: &Track) -> bool {
    check(track).is_ok()
}
