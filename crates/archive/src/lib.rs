//! The recorder: streams to files.
//!
//! ```text
//!  stream ─┬─► spool ─Fragments────┬─► Recorder ─► file.mp4.part    threads that write: a turn a second
//!          └─► lane ─ArchiveReader─┘      │ closed
//!                                         ▼
//!                            jobs: sync, name, finalise, remove     one thread
//!                            sync: everything written, every 10 s   one thread
//! ```
//!
//! * A recorder is a worker whose sockets are files: its threads visit each recording once a second, one after another,
//!   and write what its stream has gained, whole fragments, in one call. A slow disk makes them late, and nothing else.
//!   MP4 is made here, of the samples that the publisher sent; what is recorded as it is, is a lane's. What there was no
//!   memory for is a gap, which is counted and begins a new file.
//! * A file is fragmented MP4 while it grows, or MP3, Ogg, FLV and the like, so what a killed process leaves plays.
//!   Its name ends in `.part` until it is closed; no file is ever overwritten.
//! * A closed file of MP4 is *finalised* by a job: it becomes a plain one, which seeks at once. Recovery after a crash
//!   is the same job over what was open: its tail is cut, it is named, and finalised. What is not MP4 is finalised
//!   before it is named: its length and seek points are written over what was left for them.
//! * The files are the truth; the [`Shelf`](recordings::Shelf) is filled from their names when the server starts.
//!
//! Called by `server`, which asks [`Archive::look`] a few times a second, knows the operator's rules, and is told what
//! becomes of recordings ([`Event`]).

mod ages;
mod archive;
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
mod settings;
mod shared;
mod snapshot;
mod sweep;
#[cfg(test)]
mod tests;
mod turn;

pub use archive::{Archive, Permit, Refused};
pub use counts::{Counts, GapReason};
pub use event::{Event, Removal, Tell};
pub use settings::{Becomes, Keep, Rule, RuleOf, Settings};
