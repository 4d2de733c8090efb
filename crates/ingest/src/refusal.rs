//! Publishers and requests that are refused: counted, and emitted.

use std::net::SocketAddr;

use fanout::Registry;
use fanout::events::Refusal;
use fanout::gate::Denied;
use media::StreamName;

use crate::Error;
use crate::{Protocol, Stats};

/// What is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) peer: Option<SocketAddr>,
    /// The requested stream, as far as it is known.
    pub(crate) stream: Option<&'a StreamName>,
}

impl Refused<'_> {
    /// Counts and emits it.
    pub(crate) fn note(self, registry: &Registry, stats: &Stats, error: &Error) {
        stats.reject(error);
        // Many clients ask over HTTP without a credential first; that is no event.
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
