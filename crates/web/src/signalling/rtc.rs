//! State shared by all WHIP and WHEP requests.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use limits::Allowances;

use super::address::Id;
use super::refusals::Refusals;
use super::service::WebrtcService;
use super::table::Table;
use crate::address::network;

/// Burst of sessions that an address may open or change, and the time until one more is allowed. An offer takes a quarter of a
/// millisecond to parse and answer, and its handshake one millisecond; an audience that reconnects from behind one provider's
/// NAT, or a load test, is admitted.
const REQUESTS_AT_ONCE: u32 = 1_000;
const REQUEST_REFILL: Duration = Duration::from_millis(2);

/// Shared state of WHIP and WHEP: the session table, the port and the limits.
#[derive(Debug)]
pub struct Rtc {
    pub(super) table: Arc<Table>,
    /// Port and its workers.
    pub service: WebrtcService,
    /// Refused requests, by status.
    pub refusals: Refusals,
    requests: Allowances<IpAddr>,
    /// Lock held during an ICE restart, so that restarts of one session are serialised.
    pub(super) restarts: Mutex<()>,
}

impl Rtc {
    /// Creates the state without sessions.
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
    pub(super) fn end(&self, id: Id) {
        // A restart changes the session's name first at the port and then in the table.
        let _turn = self.restarts.lock();
        if let Some(entry) = self.table.get(id) {
            self.table.remove(id);
            self.service.port.close(&entry.ufrag);
        }
    }

    pub(super) fn may_ask(&self, peer: IpAddr, now: Instant) -> bool {
        self.requests.take(network(peer), now)
    }
}
