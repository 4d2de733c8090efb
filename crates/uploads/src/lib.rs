//! The uploader: complete recordings to object storage of S3's kind.
//!
//! ```text
//!  recordings::Shelf ──what is complete──► Uploader ──parts──► Bucket ──requests──► Http ──► storage
//!         ▲                                  │  ▲
//!         └─────────── what is there ────────┘  └── Journal: what has arrived
//! ```
//!
//! The disk is the queue: nothing of a recording is in memory but the parts in flight. Each part that has arrived is
//! written to the journal, so that after a crash those alone are sent that are not there. What the storage refuses is
//! tried again, for as long as the file exists; a file that fails for reasons of its own keeps no other waiting. What the
//! operator removes is written down before it goes, and does not come back. A copy counts when the storage tells its size and tag; the recorder,
//! which knows of it by the shelf, removes no file before. It is told of each copy, once ([`Tell`]).
//!
//! All of it runs on one thread with a runtime of its own: digests of parts, reads of files and writes of the journal
//! delay nothing else. `server` starts it, before the recorder, and ends it.

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

pub use ::journal::Found;
pub use bucket::Link;
pub use counts::{Counts, Outcome};
pub use failure::Failure;
pub use settings::Settings;
pub use tell::{Tell, Uploaded};
pub use uploader::{OpenError, Uploader, look};
