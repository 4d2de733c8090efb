//! Ogg files: the pages of a stream, with positions and numbers of the file's own.
//!
//! * [`Rebase`] counts pages from zero, and audio from where the file begins.
//! * [`search()`] finds the page at which a listener begins in order to play from a given time.
//! * [`Splice`] joins what was read at such places, in one file after another, into one stream.
//! * [`walk`] finds the file's whole part, its duration, and the pages to be marked as the last of their streams.
//!
//! A link of a chain stays a link: it begins at zero anyway, except for the first, which may have been joined midway.

pub(super) mod length;
mod pages;
mod rebase;
mod search;
mod splice;

#[cfg(test)]
mod tests;

use media::Span;

pub use self::pages::Pages;
pub use self::rebase::Rebase;
pub use self::search::PageSearch;
pub use self::splice::Splice;
use crate::walk::Walk;

/// Creates a walk through an Ogg file of `file_bytes` bytes.
pub fn walk(file_bytes: u64) -> Walk<Pages> {
    Walk::of(file_bytes)
}

/// Creates a search for the time `to` in a file of `file_bytes` bytes.
pub fn search(to: Span, file_bytes: u64) -> PageSearch {
    PageSearch::new(to, file_bytes)
}
