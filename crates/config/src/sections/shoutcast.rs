//! Section `[shoutcast]`.

use std::net::SocketAddr;

use media::StreamName;

use crate::read::Section;

/// Section `[shoutcast]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shoutcast {
    /// Addresses to accept SHOUTcast v1 sources on.
    pub listen: Vec<SocketAddr>,
    /// Whether connections of trusted proxies begin with a PROXY header.
    pub proxy_protocol: bool,
    /// Stream of a source that names none.
    pub stream: StreamName,
}

impl Default for Shoutcast {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            proxy_protocol: false,
            stream: StreamName::parse("stream").expect("it is a name"),
        }
    }
}

impl Shoutcast {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("listen", &mut self.listen);
        s.set("proxy_protocol", &mut self.proxy_protocol);
        s.set("stream", &mut self.stream);
    }
}
