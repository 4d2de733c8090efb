//! Listeners over HTTP: from a request for a stream to a socket in the fan-out.
//!
//! ```text
//!  router ── path ──► Target ──► decide: join ► form ► lane ──► head bytes + lane
//!                                  │                               │            │
//!                                  ▼ error, HEAD, probe       serve            reply
//!                                answer, close          connection to a   LogReader ► HTTP/2
//!                                                        worker, or, by
//!                                                        WebSocket, a task
//! ```
//!
//! * A stream is served at its own name in the source's own container (FLV when it came over RTMP), and at its name with an
//!   extension where its codecs allow; [`addresses`] lists them.
//! * [`packagers::Form`] selects the wire format that answers a request.
//! * Replies look like those of Icecast 2.4.4, because players and directories recognise it; every reply, errors included,
//!   carries CORS headers and ends with the connection.
//!
//! The server's router calls [`Target::find`] to learn whether a path names a stream; its HTTP code then calls [`serve()`] or,
//! for HTTP/2, [`reply()`].

mod address;
mod intro;
mod reply;
mod serve;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use address::{Address, Target, addresses};
pub use intro::{INTRO_BYTES_MAX, Intro, NoIntro};
pub use serve::{Context, Intros, LiveBody, LiveReply, Outcome, Overflow, reply, serve};
