//! Refused publishers and requests: counted in the metrics and emitted as events.

use std::net::SocketAddr;

use fanout::Registry;
use fanout::events::Refusal;
use fanout::gate::Denied;
use media::StreamName;

use crate::{Context, Error, Protocol, Stats};

impl Context {
    /// Counts the refusal of a publisher or request and emits it as an event; see [`note`].
    pub(crate) fn note_refusal(
        &self,
        protocol: Protocol,
        peer: SocketAddr,
        stream: Option<&StreamName>,
        error: &Error,
    ) {
        let (registry, stats) = (&self.registry, &self.stats);
        note(registry, stats, protocol, Some(peer), stream, error);
    }
}

/// Counts a refusal and emits it as an event. `stream` is the requested stream, as far as it is known.
pub(crate) fn note(
    registry: &Registry,
    stats: &Stats,
    protocol: Protocol,
    peer: Option<SocketAddr>,
    stream: Option<&StreamName>,
    error: &Error,
) {
    stats.reject(error);
    // Many HTTP clients send a first request without a credential; that is not worth an event.
    let is_http = protocol != Protocol::Rtmp;
    let is_prelude = is_http && matches!(error, Error::Denied(Denied::Missing));
    let Some(rejection) = error.rejection().filter(|_| !is_prelude) else {
        return;
    };
    let refusal = Refusal {
        reason: rejection.label(),
        protocol: Some(protocol.label()),
        peer,
        others: 0,
    };
    registry.fanout().events().refuse(stream, refusal);
}
