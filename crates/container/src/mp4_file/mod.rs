//! MP4 files on disk: recordings written as fragments and closed as plain MP4 (*hybrid*), and the [`index`] of any
//! file.
//!
//! ```text
//! while it grows:  ftyp │ free(16) │ moov(mvex) │ moof mdat │ moof mdat │ …
//! finalised:       ftyp │ mdat ───────────────────────────────────────── │ moov
//! ```
//!
//! * [`opening`] turns an initialization segment into the beginning of a file, and [`rebase`] gives a fragment its
//!   times and its number in the file.
//! * [`Scan`] goes through a file of fragments, whole or cut, and finds the end of its whole part.
//! * A [`Finaliser`] collects what a scan finds. [`Finished`] is the index to append, and the sixteen bytes that then
//!   replace the placeholder: before that write the file is fragmented, after it plain, and never anything between. The
//!   index states what fragments leave open: how early decoders must begin for correct audio, and the true times of
//!   frames that were rounded to milliseconds on their way.
//! * A [`Timeline`] finds the fragments of such a file by their times, while the file grows and after it was finalised:
//!   fragments stay where they are.
//! * [`index`] finds the samples or the fragments of a file, so that the file can be sent in segments.
//!
//! Nothing here reads a file: a scan requests the bytes it wants, in pieces of bounded size. Any input produces a
//! finding or an end, never a panic. Times are integers of each track's clock. They are rounded, to a tenth of a
//! millisecond, only where tracks are compared: for edits and total durations.
//!
//! Sources: ISO/IEC 14496-12 §8 (boxes), OBS's hybrid MP4 (the layout).

mod finalise;
mod fragment;
mod grid;
pub mod index;
mod init;
mod moof;
mod numbers;
mod patch;
mod roll;
mod scan;
mod table;
#[cfg(test)]
mod tests;
mod timeline;
mod trak;
mod walk;

pub use finalise::{Finaliser, Finished, NotFinalised, movie_duration};
pub use fragment::{Fragment, Row, Run};
pub use init::{Init, InitTrack};
pub use patch::{Base, Change, PLACEHOLDER_END_MAX, changes, is_finalised, opening, rebase};
pub use scan::{Found, Outcome, Scan};
pub use timeline::{Point, Timeline};

/// Bytes of the placeholder: a `free` box with room for the header of an `mdat` of any size.
pub const PLACEHOLDER_BYTES: usize = 16;

/// Upper bound on the bytes of an initialization segment. Codecs' records are the bulk of it, a few kilobytes.
const MOOV_BYTES_MAX: usize = 1 << 20;

/// Upper bound on the bytes of a fragment's header. Ten seconds of video and audio have 1,100 samples of 16 bytes.
const MOOF_BYTES_MAX: usize = 1 << 20;

/// Upper bound on the tracks of a file. Files written here have two.
const TRACKS_MAX: usize = 16;

/// Upper bound on the samples of one fragment, needed because rows may take no bytes at all.
const FRAGMENT_SAMPLES_MAX: usize = 1 << 16;
