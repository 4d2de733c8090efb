//! RTMP as a state machine without input or output of its own.
//!
//! [`server::Session`] is the server's end of one connection, [`client::Session`] the client's: handshake,
//! chunk stream, AMF0 commands, and the exchanges about publishing and playing. They read no clock, open no
//! socket, spawn nothing and draw no random numbers: their input is bytes, `now` and a seed; their output is
//! events and bytes to send.
//!
//! # The driving law
//!
//! Events are *pulled*, one at a time, from the bytes just read, so nothing queues inside:
//!
//! ```
//! # use std::time::Instant;
//! # use carillon_rtmp as rtmp;
//! # use rtmp::server::{Config, Event, Rejection, Session};
//! # fn drive(received: &[u8], now: Instant) -> Result<(), rtmp::Error> {
//! let mut session = Session::new(Config::default(), [0; 32], now);
//! let mut input: &[u8] = received;
//! while let Some(event) = session.read(&mut input, now)? {
//!     if let Event::Publish(request) = event {
//!         // ask the gate, then `accept_publish`, or:
//!         let _ = session.reject(request.id, Rejection::Denied, "wrong key");
//!     }
//! }
//! // now `input` is empty: send all of `session.output()`, and close if `session.is_closed()`
//! # Ok(())
//! # }
//! ```
//!
//! 1. Call [`read`](server::Session::read) until it returns `None`; only then is the input used up.
//! 2. After each call into the session send the content of [`output`](server::Session::output). A peer that
//!    makes the session reply without reading the replies is cut off ([`Error::RepliesUnread`]).
//! 3. When [`poll_timeout`](server::Session::poll_timeout) has passed, call
//!    [`handle_timeout`](server::Session::handle_timeout).
//! 4. After an error, or once [`is_closed`](server::Session::is_closed), send the remaining output and close.
//!    Reading (and discarding) a little before the close lets the last words arrive: a socket closed with
//!    unread input resets the connection, and the peer loses the reason.
//! 5. The driver itself sends the media of a player: once [`accept_play`](server::Session::accept_play) was
//!    called and the output sent, it writes messages with [`chunk::write`], each with a full header, and
//!    sends new output between two of them. Call [`shrink`](server::Session::shrink) on a session that will
//!    do little else for hours.
//!
//! The parts are public where others need them: [`chunk`] writes the shared bytes of a stream for all its
//! players, [`amf0`] reads metadata, [`timestamp`] extends the 32-bit clock.
//!
//! Sources: Adobe's RTMP specification 1.0 (2012), Enhanced RTMP v2, and the observed behaviour of OBS,
//! librtmp, ffmpeg, FMLE, GStreamer and hardware encoders.

pub mod amf0;
pub mod auth;
pub mod chunk;
pub mod client;
mod command;
mod error;
mod flow;
pub mod handshake;
pub mod message;
pub mod server;
pub mod timestamp;
mod words;

pub use error::{Blame, Error};
