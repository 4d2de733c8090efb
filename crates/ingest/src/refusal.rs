//! Refused publishers and requests: counted in the metrics and emitted as events.

use std::net::SocketAddr;

use fanout::Registry;
use fanout::events::Refusal;
use fanout::gate::Denied;
use media::StreamName;

use crate::Error;
use crate::{Protocol, Stats};

/// Protocol, peer and stream of a refused publisher or request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) peer: Option<SocketAddr>,
    /// Requested stream, as far as it is known.
    pub(crate) stream: Option<&'a StreamName>,
}

impl Refused<'_> {
    /// Counts the refusal and emits it as an event.
    pub(crate) fn note(self, registry: &Registry, stats: &Stats, error: &Error) {
        stats.reject(error);
        // Many HTTP clients send a first request without a credential; that is not worth an event.
        let is_http = self.protocol != Protocol::Rtmp;
        let is_prelude = is_http && matches!(error, Error::Denied(Denied::Missing));
        let Some(rejection) = error.rejection().filter(|_| !is_prelude) else {
            return;
        };
        let refusal = Refusal {
            reason: rejection.label(),
            protocol: Some(self.protocol.label()),
            peer: self.peer,
            others: 0,
        };
        registry.fanout().events().refuse(self.stream, refusal);
    }
}
