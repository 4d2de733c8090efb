//! Server's end of a connection.
//!
//! ```text
//!  handshake ─► connect ─► createStream ─► publish ─► Event::Publish
//!                                   │                      │ the caller asks its gate
//!                                   │    Audio, Video, Metadata ◄─ accept_publish   reject ─► closed
//!                                   │             │
//!                                   │  FCUnpublish, closeStream, deleteStream ─► Event::Unpublish
//!                                   │
//!                                   └────► play ─► Event::Play
//!                                                     │ the caller asks, and waits for the stream
//!                      Pause, Resume, Select ◄─ accept_play   reject ─► closed
//!                                │         └─► end_play, may play again
//!  Pause, Resume, Select and Seek ◄─ accept_recorded
//!                                │         └─► complete, may seek back, or play again
//!              closeStream, deleteStream ─► Event::Stop, may play again
//! ```
//!
//! The session itself answers everything that needs no decision. Only one stream at a time is published or
//! played on a connection, as all encoders and players do. Media for a player does not pass through the
//! session: the caller writes it, between the messages in [`Session::output`]. Called by the ingest and the
//! playing doors; see the [crate page](crate#the-driving-law) for how to drive it.

mod event;
mod path;
mod playback;
mod publication;
mod reply;
mod session;

pub use event::{
    Connect, CredentialRequest, Event, Media, Mode, Passage, Rejection, Request, RequestId, Start,
    TurnedAway, Withdrawn,
};
pub use path::{FileKind, StreamPath};
pub use playback::Playback;
pub use session::{Challenge, Config, HANDSHAKE_TIMEOUT, OUTPUT_BYTES_MAX, Session};

#[cfg(test)]
mod tests;
