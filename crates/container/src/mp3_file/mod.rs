//! A file of MP3: frames as a stream has them, behind one that tells how long they last.
//!
//! ```text
//!  ┌──────┬───────┬───────┬───────┬ ┄
//!  │ info │ frame │ frame │ frame │        info: empty while the file grows; frames, bytes and seek points
//!  └──────┴───────┴───────┴───────┴ ┄      when it is closed
//! ```
//!
//! * [`opening`] is the empty table, a frame of silence like the first of the stream.
//! * [`Reservoir`] mends the first frames of a stream that is joined midway: they refer to bytes before them.
//! * [`silence()`] fills so many bytes with frames.
//! * [`walk`] finds the file's whole part, its length, and the table.
//!
//! Sources: ISO/IEC 11172-3 and 13818-3; Xing's header as LAME writes it.

mod info;
mod reservoir;
mod silence;

#[cfg(test)]
mod tests;

pub use self::info::{Frames, opening};
pub use self::reservoir::Reservoir;
pub use self::silence::silence;
use crate::walk::Walk;

/// Goes through a file of MP3 of so many bytes.
pub fn walk(file_bytes: u64) -> Walk<Frames> {
    Walk::of(file_bytes)
}
