//! WebRTC's sessions: how they are opened over HTTP, and who serves them.
//!
//! ```text
//!  POST /{stream}/whep|whip ─► serve: join, limits ─► service: agree ─► Port ─► 201, answer
//!                                  │ table: id ◄── pass ─────────────┘ ticket
//!  UDP, TCP :8189 ──────► webrtc::port, a thread per worker ─► router: viewers | publishers
//! ```
//!
//! * [`mod@serve`] is the HTTP behaviour: statuses, headers, who may; [`refused`] has all refusals.
//! * The table knows sessions by the unguessable names that HTTP calls them by. An entry is held
//!   by a pass, which goes with the session through the port to the router; wherever the session ends, the
//!   entry ends.
//! * The service is where the parts meet: it agrees on sessions and hands them to the port.
//!
//! A session that waits for its peer is pending, like a connection that waits to be served, in a pool of its
//! own: there, too, the oldest of the address with the most gives way to a newcomer.

mod address;
mod router;
mod refusals;
mod refused;
mod request;
mod serve;
mod service;
mod table;

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::address::network;
use crate::allowance::Allowances;

pub(crate) use self::address::{Address, Way};
use self::refusals::Refusals;
pub(crate) use self::serve::serve;
pub use self::service::OpenError;
pub(crate) use self::service::WebrtcService;
use self::table::Table;

/// What offers and answers are of.
const SDP: &str = "application/sdp";

/// What changes to a session are of (RFC 8840 §9).
const SDP_FRAGMENT: &str = "application/trickle-ice-sdpfrag";

/// Sessions that an address may open or change at once, and how long until one more. An offer takes a
/// quarter of a millisecond to read and answer, and its handshake a whole one; a crowd that comes back
/// behind one provider's NAT, or a load test, is let in.
const REQUESTS_AT_ONCE: u32 = 1_000;
const REQUEST_REFILL: Duration = Duration::from_millis(2);

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Rtc {
    table: Arc<Table>,
    pub(crate) service: WebrtcService,
    pub(crate) refusals: Refusals,
    requests: Allowances<IpAddr>,
    /// Held while a session's ICE is restarted, so that restarts of one session come one after the other.
    restarts: Mutex<()>,
}

impl Rtc {
    pub(crate) fn new(service: WebrtcService) -> Self {
        Self {
            table: Arc::default(),
            service,
            refusals: Refusals::default(),
            requests: Allowances::new(REQUESTS_AT_ONCE, REQUEST_REFILL),
            restarts: Mutex::default(),
        }
    }

    /// Ends a session, in the table and at the port, where it may have ended by itself just now.
    fn end(&self, id: address::Id) {
        // A restart gives it another name at the port and then in the table.
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
