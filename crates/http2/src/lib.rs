//! HTTP/2 connections of a server, by hyper, within bounds.
//!
//! ```text
//!  socket ─► FrameMeter ─► hyper, h2 ─► answer() ─► Response ─► Paced body ─► hyper, h2 ─► socket
//! ```
//!
//! * What a client says beside requests and bodies has a rate ([`FrameMeter`]).
//! * A body is handed over piece by piece ([`Paced`]), and no more than [`PIECES_MAX`] of a connection wait to be sent,
//!   beside one of each request. What h2 has taken from a body and not sent is its memory, however narrow the client's
//!   windows are.
//! * A body of which the client takes nothing for its [`Patience`] ends: its stream is reset, which drops it; and so does one
//!   of which it may take no more ([`IsOver`]).
//! * A connection that is to end ends: when its requests are over, or when it is told that none is left.
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
