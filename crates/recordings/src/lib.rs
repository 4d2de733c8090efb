//! Recordings catalogue, shared by the recorder and the readers of recordings.
//!
//! ```text
//!  recorder ──insert, update, remove──► Shelf ◄──get, list── API, pages, on-demand listeners
//!     │                                                             │
//!     └── writes ──────────────► files ◄───────── read ─────────────┘
//! ```
//!
//! The files are the truth. The [`Shelf`] is a catalogue in memory, built from their names when the server starts; the facts in
//! a [`Recording`] come from its file's name and content. A [`RecordingId`] is derived from the name alone, so it is the same
//! after a restart.
//!
//! If recordings are copied to object storage, the uploader records here which of them have a copy ([`Upload`]), and the
//! recorder removes no file without one.
//!
//! Nothing here opens a file.

pub mod archive;
mod id;
mod recording;
mod shelf;

pub use id::{NotAnId, RecordingId};
pub use recording::{Container, Recording, State, Upload};
pub use shelf::{LIST_MAX, NotShelved, RECORDINGS_MAX, Shelf};
