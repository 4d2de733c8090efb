//! Ogg files: the pages of a stream, with positions and numbers of the file's own.
//!
//! * [`Rebase`] counts pages from zero, and audio from where the file begins.
//! * [`PageSearch`] finds the page at which a listener begins in order to play from a given time.
//! * [`Splice`] joins what was read at such places, in one file after another, into one stream.
//! * A [`Walk`](crate::Walk) over [`Pages`] finds the file's whole part, its duration, and the pages to be marked as the
//!   last of their streams.
//!
//! A link of a chain stays a link: it begins at zero anyway, except for the first, which may have been joined midway.

pub(super) mod length;
mod pages;
mod rebase;
mod search;
mod splice;

#[cfg(test)]
mod tests;

pub use self::pages::Pages;
pub use self::rebase::Rebase;
pub use self::search::PageSearch;
pub use self::splice::Splice;
