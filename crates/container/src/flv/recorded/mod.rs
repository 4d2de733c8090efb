//! FLV recordings: the tags of a lane, after metadata that lists the keyframes.
//!
//! ```text
//!  ┌────────┬─────────────────────────────────────────┬─────────┬─────┬─────┬ ┄
//!  │ header │ onMetaData: duration, filesize,         │ headers │ tag │ tag │
//!  │        │ keyframes { positions, times, spare }   │         │     │     │
//!  └────────┴─────────────────────────────────────────┴─────────┴─────┴─────┴ ┄
//! ```
//!
//! * [`Rebase`] begins a file and shifts its times so that they begin at zero. The metadata has room for
//!   [`KEYFRAMES_MAX`] keyframes, which are zeros in an array of their own until they are known.
//! * A [`Walk`](crate::Walk) over [`Tags`] finds the file's whole part, and the facts for its metadata.

mod index;
mod metadata;
mod rebase;

#[cfg(test)]
mod tests;

pub use self::index::Tags;
pub use self::metadata::KEYFRAMES_MAX;
pub use self::rebase::Rebase;
