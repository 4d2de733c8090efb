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
mod serve;
mod service;
mod table;

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use limits::Allowances;

use crate::address::network;

pub use self::address::{Address, Way};
use self::refusals::Refusals;
pub(crate) use self::request::BODY_BYTES_MAX;
pub(crate) use self::serve::serve;
pub use self::service::OpenError;
pub use self::service::WebrtcService;
use self::table::Table;

/// The media type of offers and answers.
const SDP: &str = "application/sdp";

/// The media type of changes to a session (RFC 8840 §9).
const SDP_FRAGMENT: &str = "application/trickle-ice-sdpfrag";

/// Sessions that an address may open or change at once, and how long until one more. An offer takes a
/// quarter of a millisecond to parse and answer, and its handshake one millisecond; an audience that
/// reconnects from behind one provider's NAT, or a load test, is admitted.
const REQUESTS_AT_ONCE: u32 = 1_000;
const REQUEST_REFILL: Duration = Duration::from_millis(2);

/// See the module's description.
#[derive(Debug)]
pub struct Rtc {
    table: Arc<Table>,
    /// The port and its workers.
    pub service: WebrtcService,
    /// Requests that were refused, by status.
    pub refusals: Refusals,
    requests: Allowances<IpAddr>,
    /// Held during a session's ICE restart, so that restarts of one session are serialised.
    restarts: Mutex<()>,
}

impl Rtc {
    /// Without sessions.
    pub fn new(service: WebrtcService) -> Self {
        Self {
            table: Arc::default(),
            service,
            refusals: Refusals::default(),
            requests: Allowances::new(REQUESTS_AT_ONCE, REQUEST_REFILL),
            restarts: Mutex::default(),
        }
    }

    /// Ends a session, in the table and at the port, where it may already have ended by itself.
    fn end(&self, id: address::Id) {
        // A restart changes its name at the port first and then in the table.
        let _turn = self.restarts.lock();
        if let Some(entry) = self.table.get(id) {
            self.table.remove(id);
            self.service.close(&entry.ufrag);
        }
    }

    fn may_ask(&self, peer: IpAddr, now: Instant) -> bool {
        self.requests.take(network(peer), now)
    }
}
