//! WebRTC sessions: signalling over HTTP, and the service that serves them.
//!
//! ```text
//!  POST /{stream}/whep|whip ─► serve: join, limits ─► service: agree ─► Port ─► 201, answer
//!                                  │ table: id ◄── permit ───────────┘ ticket
//!  UDP, TCP :8189 ──────► webrtc::port, a thread per worker ─► router: viewers | publishers
//! ```
//!
//! * `serve` is the HTTP behaviour: statuses, headers, permissions; `refused` has all refusals.
//! * The table maps the unguessable names that HTTP uses to sessions. An entry is held by a permit, which travels with the
//!   session through the port to the router; wherever the session ends, the entry ends with it.
//! * The service connects the parts: it agrees on sessions and hands them to the port.
//!
//! A session that waits for its peer is pending, like a connection that waits to be served, in a pool of its own: there, too,
//! the oldest of the address with the most gives way to a new one.

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

/// Media type of offers and answers.
pub(crate) const SDP: &str = "application/sdp";

/// Media type of changes to a session (RFC 8840 §9).
const SDP_FRAGMENT: &str = "application/trickle-ice-sdpfrag";
