//! Media files as items, sans-IO: the caller reads the file, in whatever way it may wait for the disk.
//!
//! ```text
//!  Reader::wants ──► the caller reads these ranges ──► Reader::take ──► items
//! ```
//!
//! * A [`Reader`] knows the file's format, where to read next, and which items the bytes contain. It holds one sample or
//!   fragment at most, and the tags or pages that a demuxer holds.
//! * It wants either few bytes, to [look](Reader::is_looking) for a place, or media, as much as the caller likes.
//! * Times count from the beginning of the file, wherever reading began.
//!
//! Stations read with [`blocking`], on threads that may wait; films and recordings are read by `vod`, which bounds the
//! reads of a folder.

pub mod blocking;
mod flv;
mod fragments;
mod mp4;
mod ranges;
mod reader;
mod stream;
mod whole;

use std::io;
use std::time::Duration;

use container::flv::ReadError;

pub use self::ranges::Ranges;
pub use self::reader::Reader;
pub use self::stream::Format;
pub use container::frames::Syntax;

/// Damage of a file; the file has no items from here on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// FLV file without a header, or with a tag that cannot be.
    #[error(transparent)]
    Flv(#[from] ReadError),
    /// Sample of an MP4 file that is longer than any output can carry, or many samples in a row without a byte.
    #[error("a sample is too long, or many in a row are empty")]
    Sample,
    /// Fragment that is invalid, or exceeds [`FRAGMENT_BYTES_MAX`].
    #[error("a fragment is malformed, or too long")]
    Fragment,
    /// File without media, or without any yet.
    #[error("there is no media in the file")]
    NoMedia,
}

/// Makes the error of a read: a file without media is one that is not there.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::NoMedia => io::ErrorKind::NotFound,
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// Longest fragment in bytes: ten seconds at 25 Mb/s. A fragment is in memory while it is taken apart.
pub const FRAGMENT_BYTES_MAX: u64 = 32 << 20;

/// Returns a duration in milliseconds, as FLV counts them.
fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
