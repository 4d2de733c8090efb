//! What is known of a publisher.

use std::net::SocketAddr;

use media::Container;

/// A publisher and what it sends.
#[derive(Clone, Debug)]
pub struct Source {
    /// `rtmp`, `icecast`, `demo`: the metric label.
    pub protocol: &'static str,
    /// Where it connects from; `None` for one inside the server.
    pub peer: Option<SocketAddr>,
    /// The name of the publishing program. Untrusted text.
    pub agent: String,
    /// What kind of bytes it sends.
    pub container: Container,
    /// The media type of those bytes, for listeners that take them as they are.
    pub content_type: String,
    /// `ice-*` and `icy-*` headers as the source sent them. Untrusted text.
    pub headers: Vec<(String, String)>,
}

/// The protocol of publishers that this server connects to itself, once for each stream.
const PULLED: &str = "pull";

impl Source {
    /// Whether one connection brings both, so that they have one clock.
    pub fn shares_connection(&self, other: &Self) -> bool {
        self.peer.is_some() && self.peer == other.peer && self.protocol != PULLED
    }
}
