//! What the doors count.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fanout::events::{Events, Refusal};
use limits::Rejected;
use net::accept::Failure;

/// The doors' metric labels, in the order of their indices.
const LABELS: [&str; 5] = ["rtmp", "http", "https", "rtmps", "shoutcast"];

/// See the module's description.
#[derive(Debug)]
pub struct Counts {
    accepted: [AtomicU64; LABELS.len()],
    open: [AtomicU64; LABELS.len()],
    failures: [AtomicU64; Failure::ALL.len()],
    rejected: [AtomicU64; Rejected::ALL.len()],
    events: Arc<Events>,
}

impl Counts {
    /// All zero. Refusals are also emitted as events.
    pub fn new(events: &Arc<Events>) -> Self {
        Self {
            accepted: Default::default(),
            open: Default::default(),
            failures: Default::default(),
            rejected: std::array::from_fn(|_| AtomicU64::new(0)),
            events: Arc::clone(events),
        }
    }

    /// Notes a connection that the door of this index accepts.
    pub fn accept(&self, door: usize) {
        self.accepted[door].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection of a door as open until the return value is dropped.
    pub fn enter(self: &Arc<Self>, door: usize) -> Open {
        self.open[door].fetch_add(1, Ordering::Relaxed);
        Open {
            counts: Arc::clone(self),
            door,
        }
    }

    /// Notes that a connection could not be accepted.
    pub fn note_failure(&self, class: Failure) {
        self.failures[class as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// By door: connections accepted so far, and open ones.
    pub fn connections(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        LABELS.iter().enumerate().map(|(at, label)| {
            let value = |of: &[AtomicU64]| of[at].load(Ordering::Relaxed);
            (*label, value(&self.accepted), value(&self.open))
        })
    }

    /// Connections that doors and drivers serve now.
    pub fn open(&self) -> u64 {
        self.open
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }

    /// Failed accepts of a class so far.
    pub fn failures(&self, class: Failure) -> u64 {
        self.failures[class as usize].load(Ordering::Relaxed)
    }

    /// Connections and requests refused so far.
    pub fn rejected(&self, reason: Rejected) -> u64 {
        self.rejected[reason as usize].load(Ordering::Relaxed)
    }

    /// Notes a refusal.
    pub fn reject(&self, reason: Rejected, peer: SocketAddr) {
        self.note(reason, peer, None);
    }

    /// The same with details.
    pub fn reject_for(&self, reason: Rejected, peer: SocketAddr, detail: &dyn Display) {
        self.note(reason, peer, Some(detail));
    }

    fn note(&self, reason: Rejected, peer: SocketAddr, detail: Option<&dyn Display>) {
        self.rejected[reason as usize].fetch_add(1, Ordering::Relaxed);
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

/// A connection that a task serves.
#[derive(Debug)]
pub struct Open {
    counts: Arc<Counts>,
    door: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.counts.open[self.door].fetch_sub(1, Ordering::Relaxed);
    }
}
