//! The client of a request, as the door knows it.

use std::net::SocketAddr;

use fanout::gate::{Country, Remote};

/// See the module's description.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// Its address.
    pub peer: SocketAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The connection comes from a trusted proxy.
    pub is_proxied: bool,
    /// Its country, if the proxy says it.
    pub country: Option<Country>,
}

impl Visitor {
    /// The client as the gate knows it.
    pub fn remote(&self) -> Remote {
        Remote {
            peer: self.peer,
            country: self.country,
        }
    }
}
