//! Section `[admin]`.

use std::net::{Ipv4Addr, SocketAddr};

use crate::read::Section;

/// Section `[admin]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Admin {
    /// Address of the operator's port.
    pub listen: SocketAddr,
}

impl Default for Admin {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 9600)),
        }
    }
}

impl Admin {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("listen", &mut self.listen);
    }
}
