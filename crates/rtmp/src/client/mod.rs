//! Client's end of a connection: publishing to another server, or playing from one.
//!
//! ```text
//!  handshake ─► connect ─► createStream ─► publish ─► Event::Ready   the caller writes media
//!                  │             └───────► play ────► Event::Ready, then Audio, Video, Metadata, Data
//!                  └─► Event::Challenged: connect again with the returned address
//! ```
//!
//! [`Session`] is driven like the server's (see the [crate page](crate#the-driving-law)): read until `None`,
//! send the output, observe the timeout. When publishing, the caller writes the messages itself, with the
//! message stream that [`Event::Ready`] names and in chunks of
//! [`CHUNK_SIZE_SHARED`](crate::chunk::CHUNK_SIZE_SHARED), and puts [`Session::output`] between two of them.
//!
//! Servers differ in the messages they send and in their order; only the reply to `connect`, the reply to
//! `createStream` and the first status are waited for. Requests that need no decision are answered. Sources:
//! the behaviour of librtmp and ffmpeg, and observed replies of nginx-rtmp, SRS, MediaMTX and Adobe's server.

mod address;
mod error;
mod event;
mod session;
mod words;

pub use address::{Address, AddressError, Parts};
pub use error::Error;
pub use event::Event;
pub use session::{Purpose, Session};

#[cfg(test)]
mod tests;
