//! A file of Ogg: pages as a stream has them, with positions and numbers of the file's own.
//!
//! * [`Rebase`] counts pages from zero, and sound from where the file begins.
//! * [`search()`] finds the place where a listener begins who wants a time.
//! * [`Splice`] makes one stream of what was read at such places, in one file after another.
//! * [`walk`] finds the file's whole part, how long it lasts, and the pages to be marked as the last of their streams.
//!
//! A link of a chain stays one: it begins at zero anyway, but for the first, which may have been joined midway.

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

/// Goes through a file of Ogg of so many bytes.
pub fn walk(file_bytes: u64) -> Walk<Pages> {
    Walk::of(file_bytes)
}

/// A search for a time in a file of so many bytes.
pub fn search(to: Span, file_bytes: u64) -> PageSearch {
    PageSearch::new(to, file_bytes)
}
