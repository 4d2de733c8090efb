//! What the recorder and the readers of recordings share.
//!
//! ```text
//!  recorder ──insert, update, remove──► Shelf ◄──get, list── API, pages, on-demand listeners
//!     │                                                             │
//!     └── writes ──────────────► files ◄───────── read ─────────────┘
//! ```
//!
//! The files are the truth. The [`Shelf`] is a catalogue in memory, made from their names when the server starts; what
//! a [`Recording`] tells can be found in its file's name and in the file. A [`RecordingId`] follows from the name alone,
//! so it is the same after a restart.
//!
//! Where recordings go to object storage, the uploader tells here of which there is a copy ([`Upload`]), and the recorder
//! removes no file without one.
//!
//! Nothing here opens a file.

mod id;
mod recording;
mod shelf;

pub use id::{NotAnId, RecordingId};
pub use recording::{Container, Recording, State, Upload};
pub use shelf::{LIST_MAX, NotShelved, RECORDINGS_MAX, Shelf};
