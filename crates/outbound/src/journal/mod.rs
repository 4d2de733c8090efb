//! Journal: a database in one file, for work that remains to be done after a restart. It survives failures of its disk.
//!
//! * After a disk error redb accepts nothing until it is reopened. A [`File`] is reopened by its next use; its user repeats
//!   what failed.
//! * A file that is no longer a valid database is set aside under another name, and a new one is begun. No damage keeps a
//!   server from starting.
//! * The file's blocks are allocated in advance, at least a MiB, so a disk filled by others still accepts what fits into them.
//! * Only the file's owner can read it, and only one process holds it at a time.
//! * Damage can be detected before the file is used, without changing it ([`File::look`]).
//!
//! Everything here blocks. Called by `uploads` and `webhooks`, which own the tables.

mod backend;
mod error;
mod file;
mod health;
mod look;

pub use error::Error;
pub use file::{File, MakeTables};
pub use health::{Health, State};
pub use look::Found;
