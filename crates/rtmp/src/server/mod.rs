//! The server's end of a connection.
//!
//! ```text
//!  handshake ─► connect ─► createStream ─► publish ─► Event::Publish
//!                                                          │ the caller asks its gate
//!                             Audio, Video, Metadata ◄─ accept_publish   reject ─► closed
//!                                      │
//!                  FCUnpublish, closeStream, deleteStream ─► Event::Unpublish, may publish again
//! ```
//!
//! The session answers by itself whatever needs no decision. Only one stream at a time is published on
//! a connection, as all encoders have it. Called by the ingest door; see the
//! [crate page](crate#the-driving-law) for how to drive it.

mod event;
mod path;
mod publication;
mod reply;
mod session;

pub use event::{Connect, Event, Media, Mode, Rejection, Request, RequestId, Withdrawn};
pub use path::StreamPath;
pub use session::{Config, OUTPUT_BYTES_MAX, Session};

#[cfg(test)]
mod tests;
