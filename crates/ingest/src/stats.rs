//! What publishers' connections count.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Rejection};
use crate::{Protocol, whip};

/// Counts over all connections, for export.
#[derive(Debug, Default)]
pub struct Stats {
    publishers: [AtomicU64; Protocol::ALL.len()],
    bytes: [AtomicU64; Protocol::ALL.len()],
    receives: [AtomicU64; Protocol::ALL.len()],
    rejected: [AtomicU64; Rejection::ALL.len()],
    /// What arrived over WebRTC, packet by packet.
    pub whip: whip::Counters,
}

impl Stats {
    /// Publishers now.
    pub fn publishers(&self, protocol: Protocol) -> u64 {
        self.publishers[protocol as usize].load(Ordering::Relaxed)
    }

    /// Bytes received from publishers, framing included, so far.
    pub fn ingest_bytes(&self, protocol: Protocol) -> u64 {
        self.bytes[protocol as usize].load(Ordering::Relaxed)
    }

    /// Receives from publishers that returned data, so far.
    pub fn receives(&self, protocol: Protocol) -> u64 {
        self.receives[protocol as usize].load(Ordering::Relaxed)
    }

    /// Connections and requests turned away so far.
    pub fn rejected(&self, reason: Rejection) -> u64 {
        self.rejected[reason as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn enter(&self, protocol: Protocol) {
        self.publishers[protocol as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self, protocol: Protocol) {
        self.publishers[protocol as usize].fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, protocol: Protocol, bytes: usize) {
        self.bytes[protocol as usize].fetch_add(bytes as u64, Ordering::Relaxed);
        self.receives[protocol as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn reject(&self, error: &Error) {
        if let Some(reason) = error.rejection() {
            self.rejected[reason as usize].fetch_add(1, Ordering::Relaxed);
        }
    }
}
