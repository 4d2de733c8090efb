//! Admission of listeners: checks the limits and that the server is not draining.
//!
//! The doors call it once per listener; HLS, which has no connection to count, calls it once per viewer.

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

/// Admission check for listeners and HLS viewers.
#[derive(Clone)]
pub struct ListenerAdmission {
    /// Limits on connections and listeners.
    pub limits: Arc<Limits>,
    /// Draining state of the server.
    pub drain: Arc<Drain>,
    /// Counters for refused HLS viewers; the doors count the other refusals.
    pub counts: Arc<Counts>,
}

impl ListenerAdmission {
    /// Returns a permit for a listener at `address`.
    pub fn listener(&self, address: IpAddr) -> Result<ListenerPermit, Rejected> {
        if self.drain.has_begun() {
            return Err(Rejected::Draining);
        }
        self.limits.listener(address, Instant::now())
    }

    /// Returns a permit for a listener at `address` that has no connection of its own to be counted by.
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
