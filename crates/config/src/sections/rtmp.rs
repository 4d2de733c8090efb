//! Section `[rtmp]`.

use std::net::SocketAddr;
use std::time::Duration;

use super::any;
use crate::read::Section;

/// Section `[rtmp]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rtmp {
    /// Addresses to accept RTMP on.
    pub listen: Vec<SocketAddr>,
    /// Addresses to accept RTMPS on. Not empty only if `[http]` has certificate and private key.
    pub tls_listen: Vec<SocketAddr>,
    /// Whether connections of trusted proxies begin with a PROXY header.
    pub proxy_protocol: bool,
    /// Time for which a player waits for a stream that does not exist; with zero it is refused at once.
    pub play_wait: Duration,
    /// Whether publishers are asked for user and password when they connect.
    pub challenge: bool,
}

impl Default for Rtmp {
    fn default() -> Self {
        Self {
            listen: vec![any(1935)],
            tls_listen: Vec::new(),
            proxy_protocol: false,
            play_wait: Duration::from_secs(10),
            challenge: false,
        }
    }
}

impl Rtmp {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("listen", &mut self.listen);
        s.set("tls_listen", &mut self.tls_listen);
        s.set("proxy_protocol", &mut self.proxy_protocol);
        s.set("play_wait", &mut self.play_wait);
        s.set("challenge", &mut self.challenge);
    }
}
