//! The ports of a relay, as they were bound.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

base::labels! {
    /// What a listening socket is for.
    pub enum Port {
        /// Publishers and players over RTMP.
        Rtmp = "rtmp",
        /// The same over TLS.
        Rtmps = "rtmps",
        /// Listeners, sources and pages.
        Http = "http",
        /// The same over TLS.
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
    /// What it is for.
    pub port: Port,
    /// Where it listens; never port 0.
    pub address: SocketAddr,
}

/// The first address of a port.
pub(crate) fn first(bound: &[Bound], port: Port) -> Option<SocketAddr> {
    let found = bound.iter().find(|bound| bound.port == port);
    found.map(|bound| bound.address)
}

/// An address that works on this host: one cannot connect to `0.0.0.0` everywhere.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
