//! Recorder: writes streams to files.
//!
//! ```text
//!  stream ─┬─► spool ─Fragments────┬─► Recorder ─► file.mp4.part    threads that write: a turn a second
//!          └─► lane ─ArchiveReader─┘      │ closed
//!                                         ▼
//!                            jobs: sync, name, finalise, remove     one thread
//!                            sync: everything written, every 10 s   one thread
//! ```
//!
//! * A recorder is a worker whose sockets are files: its threads visit each recording once a second, in turn, and write the
//!   stream's new whole fragments in one call. A slow disk makes them late, and nothing else. MP4 is made here from the
//!   publisher's samples; formats recorded unchanged come from a lane. Media dropped for lack of memory is a gap, which is
//!   counted and starts a new file.
//! * A growing file is fragmented MP4, or MP3, Ogg, FLV and the like, so the file of a killed process is playable. Its name
//!   ends in `.part` until it is closed; no file is ever overwritten.
//! * A closed MP4 file is *finalised* by a job: it becomes a plain one, which seeks at once. Recovery after a crash is the same
//!   job on files left open: the tail is cut, the file is named, and finalised. Other formats are finalised before they are
//!   named: their length and seek points are written into the space reserved for them.
//! * The files are the truth; the [`Shelf`](crate::Shelf) is filled from their names when the server starts.
//!
//! Called by `server`, which calls [`Archive::look`] a few times a second, supplies the operator's rules, and is notified of
//! changes to recordings ([`Event`]).

mod ages;
mod choice;
mod counts;
mod directories;
mod disk;
mod event;
mod file;
mod finalise;
mod fragments;
mod jobs;
mod lock;
mod name;
pub mod offline;
mod pin;
mod reader;
mod recorder;
mod removal;
mod retention;
mod rope;
mod service;
mod settings;
mod shared;
mod snapshot;
mod sweep;
#[cfg(test)]
mod tests;
mod turn;

pub use counts::{Counts, GapReason};
pub use event::{Event, Removal, Tell};
pub use service::{Archive, Permit, Refused};
pub use settings::{Becomes, Keep, Rule, RuleOf, Settings};
