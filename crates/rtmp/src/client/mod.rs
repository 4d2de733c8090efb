//! The client's end of a connection: publishing to another server, or playing from one.
//!
//! ```text
//!  handshake ─► connect ─► createStream ─► publish ─► Event::Ready   the caller writes media
//!                  │             └───────► play ────► Event::Ready, then Audio, Video, Metadata, Data
//!                  └─► Event::Challenged: connect anew with the address given
//! ```
//!
//! [`Session`] is driven like the server's (see the [crate page](crate#the-driving-law)): read
//! until `None`, send the output, observe the timeout. When publishing, the caller writes the
//! messages itself, with the message stream that [`Event::Ready`] names and in chunks of
//! [`Config::chunk_size`], and puts [`Session::output`] between two of them.
//!
//! Servers differ in what they send and in which order; only the answer to `connect`, the answer to
//! `createStream` and the first status are waited for. Requests that need no decision are answered.
//! Sources: what librtmp and ffmpeg do, and what nginx-rtmp, SRS, MediaMTX and Adobe's server were
//! seen to answer.

mod address;
mod error;
mod event;
mod session;
mod words;

pub use address::{Address, AddressError, Parts};
pub use error::Error;
pub use event::Event;
pub use session::{Config, Purpose, Session};

#[cfg(test)]
mod tests;
