//! Properties of a publisher.

use std::net::SocketAddr;

use media::Container;

/// A publisher and the kind of its bytes.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its protocol, as the metric label: `rtmp`, `icecast`, `demo`.
    pub protocol: &'static str,
    /// Address it connects from; `None` for one inside the server.
    pub peer: Option<SocketAddr>,
    /// Name of the publishing program. Untrusted text.
    pub agent: String,
    /// Container of its bytes.
    pub container: Container,
    /// Media type of these bytes, for listeners that take them unchanged.
    pub content_type: String,
    /// `ice-*` and `icy-*` headers as the source sent them. Untrusted text.
    pub headers: Vec<(String, String)>,
}

/// Protocol of publishers that this server connects to itself, once for each stream.
const PULLED: &str = "pull";

impl Source {
    /// Whether both publishers use one connection, and so have one clock.
    pub fn shares_connection(&self, other: &Self) -> bool {
        self.peer.is_some() && self.peer == other.peer && self.protocol != PULLED
    }
}
