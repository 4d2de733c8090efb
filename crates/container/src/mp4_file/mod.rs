//! MP4 files on disk: those that are written as fragments and closed as plain MP4 (*hybrid*), and the [`index`] of any.
//!
//! ```text
//! while it grows:  ftyp │ free(16) │ moov(mvex) │ moof mdat │ moof mdat │ …
//! finalised:       ftyp │ mdat ───────────────────────────────────────── │ moov
//! ```
//!
//! * [`opening`] makes the beginning of a file of an initialization segment, and [`rebase`] gives a fragment the times
//!   and the number that it has in the file.
//! * [`Scan`] goes through a file of fragments, whole or cut, and finds where its whole part ends.
//! * A [`Finaliser`] collects what a scan finds. [`Finished`] is the index to append, and the sixteen bytes that then
//!   replace the placeholder: before that write the file is fragmented, after it plain, and never anything between. The
//!   index says what fragments leave open: from where decoders must begin to have sound, and the true times of pictures
//!   that were rounded to milliseconds on their way.
//! * A [`Timeline`] knows the fragments of such a file by their times, while it grows and after it was finalised: they
//!   stay where they are.
//! * [`index`] finds the samples or the fragments of a file, so that it can be sent in segments.
//!
//! Nothing here reads a file: a scan says which bytes it wants, in pieces of known bounds. Any input results in a
//! finding or in an end, never in a panic. Times are integers of each track's clock; only where tracks are compared, for
//! the edits and durations of the whole, they are rounded, to a tenth of a millisecond.
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

/// Upper bound on an initialization segment. Codecs' records are the bulk of it, a few kilobytes.
const MOOV_BYTES_MAX: usize = 1 << 20;

/// Upper bound on the header of a fragment. Ten seconds of pictures and sound have 1,100 samples of 16 bytes.
const MOOF_BYTES_MAX: usize = 1 << 20;

/// Upper bound on the tracks of a file. Ours have two.
const TRACKS_MAX: usize = 16;

/// Upper bound on the samples of one fragment: rows may take no bytes at all.
const FRAGMENT_SAMPLES_MAX: usize = 1 << 16;
