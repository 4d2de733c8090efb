//! Counters of the doors.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use base::Labelled;
use fanout::events::{Events, Refusal};
use limits::Rejected;
use net::accept::Failure;

base::labels! {
    /// Kind of door, by which connections are counted.
    pub enum DoorKind {
        /// RTMP.
        Rtmp = "rtmp",
        /// HTTP, and the start of TLS on the same port.
        Http = "http",
        /// HTTP over TLS.
        Https = "https",
        /// RTMP over TLS.
        Rtmps = "rtmps",
        /// SHOUTcast v1.
        Shoutcast = "shoutcast",
    }
}

/// Counters that all doors share.
#[derive(Debug)]
pub struct Counts {
    /// Connections accepted so far.
    pub accepted: Labelled<DoorKind>,
    /// Connections that doors and drivers serve now.
    pub open: Labelled<DoorKind>,
    /// Failed accepts so far.
    pub failures: Labelled<Failure>,
    /// Connections and requests refused so far.
    pub rejected: Labelled<Rejected>,
    events: Arc<Events>,
}

impl Counts {
    /// Creates counters at zero. Refusals are also emitted as events.
    pub fn new(events: &Arc<Events>) -> Self {
        Self {
            accepted: Labelled::default(),
            open: Labelled::default(),
            failures: Labelled::default(),
            rejected: Labelled::default(),
            events: Arc::clone(events),
        }
    }

    /// Counts a connection of a door as open until the return value is dropped.
    pub fn enter(self: &Arc<Self>, door: DoorKind) -> Open {
        self.open.count(door);
        Open {
            counts: Arc::clone(self),
            door,
        }
    }

    /// Counts a refusal, and emits and logs it.
    pub fn reject(&self, reason: Rejected, peer: SocketAddr) {
        self.note(reason, peer, None);
    }

    /// Counts a refusal as [`reject`](Self::reject) does, with details in the log.
    pub fn reject_for(&self, reason: Rejected, peer: SocketAddr, detail: &dyn Display) {
        self.note(reason, peer, Some(detail));
    }

    fn note(&self, reason: Rejected, peer: SocketAddr, detail: Option<&dyn Display>) {
        self.rejected.count(reason);
        let refusal = Refusal {
            reason: reason.label(),
            protocol: None,
            peer: Some(peer),
            others: 0,
        };
        self.events.refuse(None, refusal);
        let detail = detail.map(tracing::field::display);
        tracing::info!(%peer, reason = reason.label(), detail, "turned away: {reason}");
    }
}

/// Connection that is counted as open until this guard is dropped.
#[derive(Debug)]
pub struct Open {
    counts: Arc<Counts>,
    door: DoorKind,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.counts.open[self.door].sub(1);
    }
}
