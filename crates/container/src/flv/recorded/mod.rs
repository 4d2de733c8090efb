//! A file of FLV: tags as a lane has them, behind metadata that tells where the keyframes are.
//!
//! ```text
//!  ┌────────┬─────────────────────────────────────────┬─────────┬─────┬─────┬ ┄
//!  │ header │ onMetaData: duration, filesize,         │ headers │ tag │ tag │
//!  │        │ keyframes { positions, times, spare }   │         │     │     │
//!  └────────┴─────────────────────────────────────────┴─────────┴─────┴─────┴ ┄
//! ```
//!
//! * [`Rebase`] begins a file and has its times begin at zero. The metadata has room for [`KEYFRAMES_MAX`] keyframes,
//!   which are zeros in an array of its own until they are known.
//! * [`walk`] finds the file's whole part, and what the metadata has to say of it.

mod index;
mod metadata;
mod rebase;

#[cfg(test)]
mod tests;

pub use self::index::Tags;
pub use self::metadata::KEYFRAMES_MAX;
pub use self::rebase::Rebase;
use crate::walk::Walk;

/// Goes through a file of FLV of so many bytes.
pub fn walk(file_bytes: u64) -> Walk<Tags> {
    Walk::of(file_bytes)
}
