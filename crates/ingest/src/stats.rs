//! What publishers' connections count.

use base::Labelled;

use crate::error::{Error, Rejection};
use crate::{Protocol, whip};

/// Counts over all connections, for export.
#[derive(Debug, Default)]
pub struct Stats {
    /// Publishers now.
    pub publishers: Labelled<Protocol>,
    /// Bytes received from publishers, framing included, so far.
    pub bytes: Labelled<Protocol>,
    /// Receives from publishers that returned data, so far.
    pub receives: Labelled<Protocol>,
    /// Connections and requests turned away so far.
    pub rejected: Labelled<Rejection>,
    /// What arrived over WebRTC, packet by packet.
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
