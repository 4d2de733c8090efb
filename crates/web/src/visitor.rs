//! Client of a request, from the door's point of view.

use std::net::SocketAddr;

use fanout::gate::{Country, Remote};

/// Client of a request.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// Address and port.
    pub peer: SocketAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Whether the connection comes from a trusted proxy.
    pub is_proxied: bool,
    /// Country, if the proxy reports it.
    pub country: Option<Country>,
}

impl Visitor {
    /// Returns the client in the gate's form.
    pub fn remote(&self) -> Remote {
        Remote {
            peer: self.peer,
            country: self.country,
        }
    }
}
