//! Server-side HTTP/2 connections, by hyper, within bounds.
//!
//! ```text
//!  socket ─► FrameMeter ─► hyper, h2 ─► answer() ─► Response ─► Paced body ─► hyper, h2 ─► socket
//! ```
//!
//! * Frames that a client sends in addition to requests and bodies are rate-limited ([`FrameMeter`]).
//! * A body is handed over piece by piece ([`Paced`]). At most [`PIECES_MAX`] pieces of a connection wait to be sent, plus one
//!   per request. This bounds the memory of h2, which holds the bytes that it has taken from bodies and not sent, however
//!   narrow the client's windows are.
//! * A body of which the client takes nothing for its [`Patience`] ends: its stream is reset, which drops the body. So does a
//!   body of which the client may take no more ([`IsOver`]).
//! * A connection that is to end does so when its requests are over, or when its caller reports that none is left.
//!
//! Called by `server`. A fuzz target drives whole connections.

mod connection;
mod meter;
mod paced;
mod progress;
#[cfg(test)]
mod tests;

pub use self::connection::{HEAD_BYTES_MAX, STREAMS_MAX, serve};
pub use self::meter::{FrameMeter, TooMuchTalk};
pub use self::paced::{PIECE_BYTES, Paced};
pub use self::progress::{IsOver, PIECES_MAX, Patience};
