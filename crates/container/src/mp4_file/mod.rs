//! MP4 files on disk, as pure functions over ranges of them.
//!
//! [`index`] finds the samples or the fragments of a file, so that it can be sent in segments.

pub mod index;
