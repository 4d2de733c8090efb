//! Section `[webrtc]`.

use std::net::{IpAddr, SocketAddr};

use super::any;
use crate::read::Section;

/// Section `[webrtc]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Webrtc {
    /// UDP address for the media of all sessions; `None` turns WebRTC off.
    pub listen: Option<SocketAddr>,
    /// Addresses in answers to peers; empty detects them. Each belongs to one host.
    pub public_ips: Vec<IpAddr>,
    /// Whether TCP is offered on the same port number, for peers whose network blocks UDP.
    pub tcp: bool,
}

impl Default for Webrtc {
    fn default() -> Self {
        Self {
            listen: Some(any(8189)),
            public_ips: Vec::new(),
            tcp: true,
        }
    }
}

impl Webrtc {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("listen", &mut self.listen);
        s.set("public_ips", &mut self.public_ips);
        s.set("tcp", &mut self.tcp);
        let is_somewhere = |ip: &IpAddr| !ip.is_unspecified() && !ip.is_multicast();
        s.require(
            "public_ips",
            self.public_ips.iter().all(is_somewhere),
            "holds an address at which no host can be reached",
        );
    }
}
