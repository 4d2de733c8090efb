//! What all requests of WHIP and WHEP share.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use limits::Allowances;

use super::address::Id;
use super::refusals::Refusals;
use super::service::WebrtcService;
use super::table::Table;
use crate::address::network;

/// Sessions that an address may open or change at once, and how long until one more. An offer takes a
/// quarter of a millisecond to parse and answer, and its handshake one millisecond; an audience that
/// reconnects from behind one provider's NAT, or a load test, is admitted.
const REQUESTS_AT_ONCE: u32 = 1_000;
const REQUEST_REFILL: Duration = Duration::from_millis(2);

/// See the module's description.
#[derive(Debug)]
pub struct Rtc {
    pub(super) table: Arc<Table>,
    /// The port and its workers.
    pub service: WebrtcService,
    /// Requests that were refused, by status.
    pub refusals: Refusals,
    requests: Allowances<IpAddr>,
    /// Held during a session's ICE restart, so that restarts of one session are serialised.
    pub(super) restarts: Mutex<()>,
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
    pub(super) fn end(&self, id: Id) {
        // A restart changes its name at the port first and then in the table.
        let _turn = self.restarts.lock();
        if let Some(entry) = self.table.get(id) {
            self.table.remove(id);
            self.service.close(&entry.ufrag);
        }
    }

    pub(super) fn may_ask(&self, peer: IpAddr, now: Instant) -> bool {
        self.requests.take(network(peer), now)
    }
}
