//! Uploader: copies complete recordings to S3-compatible object storage.
//!
//! ```text
//!  recordings::Shelf ──what is complete──► Uploader ──parts──► Bucket ──requests──► Http ──► storage
//!         ▲                                  │  ▲
//!         └─────────── what is there ────────┘  └── Journal: what has arrived
//! ```
//!
//! The disk is the queue: memory holds only the parts in flight. Each part that has arrived is recorded in the journal, so that
//! after a crash only missing parts are sent. Refused uploads are retried for as long as the file exists; a file that fails for
//! reasons of its own does not delay others. A removal by the operator is recorded before it is made, and the recording does
//! not come back. A copy counts once the storage reports its size and tag. The recorder, which sees this on the shelf, removes
//! no file before. Each copy is reported once ([`Tell`]).
//!
//! All of this runs on one thread with its own runtime: digests of parts, reads of files and writes of the journal delay
//! nothing else. `server` starts it, before the recorder, and ends it.

mod bucket;
mod counts;
mod credentials;
mod failure;
mod http;
mod journal;
mod local;
mod pace;
mod parts;
mod settings;
mod tell;
mod transfer;
mod uploader;
mod work;

pub use crate::journal::Found;
pub use bucket::Link;
pub use counts::{Counts, Outcome};
pub use failure::Failure;
pub use settings::Settings;
pub use tell::{Tell, Uploaded};
pub use uploader::{OpenError, Uploader, look};
