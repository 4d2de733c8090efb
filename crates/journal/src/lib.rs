//! A database in one file, for what is still to be done after a restart. It outlives the failures of its disk.
//!
//! * After an error of the disk redb takes nothing until it is opened again. A [`File`] is, by the next one who uses it:
//!   what failed then is for its user to repeat.
//! * A file that is no database any more is set aside under another name, and a new one is begun. No damage keeps a
//!   server from starting.
//! * The blocks of the file are its own, a MiB of them at least, so a disk that others have filled still takes what fits
//!   into it.
//! * Nobody but its owner reads it, and one process has it at a time.
//! * Whether it is damaged can be asked before it is used, which changes nothing ([`File::look`]).
//!
//! Everything here blocks. Called by `uploads` and `webhooks`, to whom the tables belong.

mod backend;
mod error;
mod file;
mod health;
mod look;

pub use error::Error;
pub use file::{File, MakeTables};
pub use health::{Health, State};
pub use look::Found;
