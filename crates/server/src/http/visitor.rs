//! The client of a request, as the door knows it.

use std::net::SocketAddr;

use fanout::gate::{Country, Remote};

/// See the module's description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor {
    /// Its address.
    pub(crate) peer: SocketAddr,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// The connection comes from a trusted proxy.
    pub(crate) is_proxied: bool,
    /// Its country, if the proxy says it.
    pub(crate) country: Option<Country>,
}

impl Visitor {
    /// The client as the gate knows it.
    pub(crate) fn remote(&self) -> Remote {
        Remote {
            peer: self.peer,
            country: self.country,
        }
    }
}
