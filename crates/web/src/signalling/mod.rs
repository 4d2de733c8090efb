//! WebRTC sessions: how they are opened over HTTP, and what serves them.
//!
//! ```text
//!  POST /{stream}/whep|whip ─► serve: join, limits ─► service: agree ─► Port ─► 201, answer
//!                                  │ table: id ◄── permit ───────────┘ ticket
//!  UDP, TCP :8189 ──────► webrtc::port, a thread per worker ─► router: viewers | publishers
//! ```
//!
//! * `serve` is the HTTP behaviour: statuses, headers, permissions; `refused` has all refusals.
//! * The table knows sessions by the unguessable names that HTTP uses. An entry is held by a permit, which goes
//!   with the session through the port to the router; when the session ends, wherever that is, the entry
//!   ends.
//! * The service connects the parts: it agrees on sessions and hands them to the port.
//!
//! A session that waits for its peer is pending, like a connection that waits to be served, in a pool of its
//! own: there, too, the oldest of the address with the most gives way to a new one.

mod address;
mod refusals;
mod refused;
mod request;
mod router;
pub mod rtc;
mod serve;
mod service;
mod table;

pub use self::address::{Address, Way};
pub(crate) use self::request::BODY_BYTES_MAX;
pub use self::rtc::Rtc;
pub(crate) use self::serve::serve;
pub use self::service::OpenError;
pub use self::service::WebrtcService;

/// The media type of offers and answers.
const SDP: &str = "application/sdp";

/// The media type of changes to a session (RFC 8840 §9).
const SDP_FRAGMENT: &str = "application/trickle-ice-sdpfrag";
