//! MP3 files: the frames of a stream, after a frame that gives their total length.
//!
//! ```text
//!  ┌──────┬───────┬───────┬───────┬ ┄
//!  │ info │ frame │ frame │ frame │        info: empty while the file grows; frames, bytes and seek points
//!  └──────┴───────┴───────┴───────┴ ┄      when it is closed
//! ```
//!
//! * [`opening`] creates the empty table, a silent frame in the format of the stream's first frame.
//! * [`Reservoir`] mends the first frames of a stream that is joined midway: they refer to bytes before them.
//! * [`silence()`] creates frames of a given total length.
//! * A [`Walk`](crate::Walk) over [`Frames`] finds the file's whole part, its length, and the table.
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
