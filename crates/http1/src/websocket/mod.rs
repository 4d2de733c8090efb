//! WebSocket (RFC 6455) for live streams, sans-IO: the key of the opening handshake, outgoing frames, incoming frames.
//!
//! ```text
//!  Sec-WebSocket-Key ─► accept() ─► Sec-WebSocket-Accept
//!  payload of known length ─► FrameHead ─► 2 to 14 bytes; the payload is not copied
//!  bytes, however cut ─► FrameReader ─► Event: Data (as a slice), Ping, Pong, Close; or a Violation with its close code
//! ```
//!
//! * Data in a frame is passed on as it arrives and never gathered: a reader owns 125 bytes, the largest control frame, however
//!   large a message is.
//! * Every result is independent of how the input was cut into reads. Nothing here opens a socket or reads a clock.
//! * No extension is supported: permessage-deflate would compress, for each listener, data that is compressed already.
//!
//! Callers: `web` serves with it, and `load` plays with it.

mod close;
mod frame;
mod handshake;
mod reader;

pub use close::CloseCode;
pub use frame::{CONTROL_BYTES_MAX, FrameHead, Opcode, Short, mask};
pub use handshake::{VERSION, accept};
pub use reader::{Control, Event, FrameReader, Peer, Violation};
