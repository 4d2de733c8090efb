//! A file of Ogg: pages as a stream has them, with positions and numbers of the file's own.
//!
//! * [`Rebase`] counts pages from zero, and sound from where the file begins.
//! * [`walk`] finds the file's whole part, how long it lasts, and the pages to be marked as the last of their streams.
//!
//! A link of a chain stays one: it begins at zero anyway, but for the first, which may have been joined midway.

mod length;
mod pages;
mod rebase;

pub use self::pages::Pages;
pub use self::rebase::Rebase;
use crate::walk::Walk;

/// Goes through a file of Ogg of so many bytes.
pub fn walk(file_bytes: u64) -> Walk<Pages> {
    Walk::of(Pages::default(), file_bytes)
}
