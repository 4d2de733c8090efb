//! MPEG transport stream (ISO/IEC 13818-1): items in, packets of 188 bytes out. A [`Demuxer`] converts recordings of
//! such a stream back to items.
//!
//! ```text
//! unit: [PAT│PMT]  [clock]  PES packet in TS packets        log: unit │ unit │ unit …
//!        │         └ a packet of its own where the PES is not    └ join: a keyframe; with audio
//!        │           of the track that carries the clock           alone: wherever tables are
//!        └ in every join, and every 400 ms
//! ```
//!
//! * There is one program. A track's PID follows from its codec and its number, so that the PID is the same in every
//!   epoch, and different when the codec changes: players do not expect one PID to turn into something else.
//! * Continuity counters run through the log without a gap, across epochs.
//! * A join begins with the tables, and its video frame with parameter sets, so a joiner needs no preamble. HTTP Live
//!   Streaming segments begin in the same way, where their writer requests it ([`Muxer::begin_segment`]).
//! * The program clock reference is the time that items carry, and everything is decoded [`CLOCK_LEAD`] later.
//! * Events have PIDs of their own, declared with the first event: ID3 tags as timed metadata, and splice information,
//!   whose times are moved onto this stream's.
//! * Audio frames share PES packets ([`Muxer`] states how long they wait for each other), and held audio is written
//!   before any video frame that is not earlier.
//!
//! A listener that skips ahead receives a gap in the continuity counters of each PID. ISO/IEC 13818-1 §2.4.3.5 has a
//! flag for that, in a packet without payload before the first one after the gap. The flag is not sent: ffmpeg and
//! GStreamer decode the same with it and without, and VLC 3, whose table reader reports the gap anyway, loses three
//! audio frames with it instead of one.
//!
//! Everything is pure and bounded: [`TRACKS_MAX`] tracks, and 32 KiB of held audio for each. Video is copied only into
//! the packet being filled.

mod audio;
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

/// Media type of a transport stream (RFC 3555).
pub const MEDIA_TYPE: &str = "video/mp2t";

/// Output of a muxer.
pub trait PacketSink {
    /// Appends a packet to the open unit.
    fn packet(&mut self, packet: &[u8; PACKET_BYTES]);

    /// Ends the open unit, whose time is `at`; a listener may start at it if `is_join`.
    fn end_unit(&mut self, at: Timestamp, is_join: bool);
}

/// Checks whether a [`Muxer`] can carry `track`.
///
/// # Errors
/// The reason if it cannot.
pub fn check(track: &Track) -> Result<(), Unsupported> {
    stream::Stream::new(track).map(drop)
}

/// Returns whether a [`Muxer`] can carry `track`; [`check`] gives the reason if not.
pub fn can_mux(track: &Track) -> bool {
    check(track).is_ok()
}
