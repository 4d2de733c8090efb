//! Counters of publishers' connections.

use base::Labelled;

use crate::error::{Error, Rejection};
use crate::{Protocol, whip};

/// Counts over all connections, for export.
#[derive(Debug, Default)]
pub struct Stats {
    /// Current number of publishers.
    pub publishers: Labelled<Protocol>,
    /// Bytes received from publishers so far, framing included.
    pub bytes: Labelled<Protocol>,
    /// Receive calls from publishers that returned data so far.
    pub receives: Labelled<Protocol>,
    /// Connections and requests refused so far.
    pub rejected: Labelled<Rejection>,
    /// Per-packet counters of WebRTC reception.
    pub whip: whip::Counters,
}

impl Stats {
    pub(crate) fn received(&self, protocol: Protocol, bytes: usize) {
        self.bytes[protocol].add(bytes as u64);
        self.receives.count(protocol);
    }

    pub(crate) fn reject(&self, error: &Error) {
        if let Some(reason) = error.rejection() {
            self.rejected.count(reason);
        }
    }
}
