//! The ports of a relay, as bound.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

base::labels! {
    /// Purpose of a listening socket.
    pub enum Port {
        /// Publishers and players over RTMP.
        Rtmp = "rtmp",
        /// Publishers and players over RTMP within TLS.
        Rtmps = "rtmps",
        /// Listeners, sources and pages.
        Http = "http",
        /// Listeners, sources and pages over TLS.
        Https = "https",
        /// Sources of SHOUTcast v1.
        Shoutcast = "shoutcast",
        /// The media of WebRTC sessions.
        Webrtc = "webrtc",
        /// The operator.
        Admin = "admin",
    }
}

/// A listening socket as it was bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bound {
    /// Purpose of the socket.
    pub port: Port,
    /// Address of the socket; never port 0.
    pub address: SocketAddr,
}

/// Returns the first address of a port.
pub(crate) fn first(bound: &[Bound], port: Port) -> Option<SocketAddr> {
    let found = bound.iter().find(|bound| bound.port == port);
    found.map(|bound| bound.address)
}

/// Returns an address that works on this host: connecting to `0.0.0.0` does not work everywhere.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
