//! Who is let in to listen: the limits, and that the server does not drain.
//!
//! The doors ask it once per listener; HLS, which has no connection to count, once per viewer.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use egress_hls::Turned;
use fanout::Permit;
use limits::Rejected;
use limits::SharePlace;
use limits::{Limits, ListenerPermit};

use crate::counts::Counts;
use crate::drain::Drain;

/// See the module's description.
#[derive(Clone)]
pub struct ListenerAdmission {
    /// What may be held at most.
    pub limits: Arc<Limits>,
    /// Whether the server leaves.
    pub drain: Arc<Drain>,
    /// Notes what viewers over HLS are refused; doors note the rest.
    pub counts: Arc<Counts>,
}

impl ListenerAdmission {
    /// A permit for a listener at `address`.
    pub fn listener(&self, address: IpAddr) -> Result<ListenerPermit, Rejected> {
        if self.drain.has_begun() {
            return Err(Rejected::Draining);
        }
        self.limits.listener(address, Instant::now())
    }

    /// A permit for a listener at `address` that has no connection of its own, by which it would be counted.
    pub fn viewer(&self, address: IpAddr) -> Result<(ListenerPermit, SharePlace), Rejected> {
        match self.drain.has_begun() {
            true => Err(Rejected::Draining),
            false => self.limits.viewer(address, Instant::now()),
        }
    }
}

impl egress_hls::Admission for ListenerAdmission {
    fn admit(&self, peer: SocketAddr) -> Result<Permit, Turned> {
        let permit = self.viewer(peer.ip());
        permit.map(Permit::new).map_err(|reason| {
            self.counts.reject(reason, peer);
            Turned {
                reason: reason.to_string(),
                retry_after: self.drain.retry_after(),
            }
        })
    }
}
