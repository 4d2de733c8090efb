//! ICE, the lite side: it answers connectivity checks and sends none (RFC 8445 §2.5).
//!
//! A session has one [`Agent`]. The agent keeps the addresses that its peer has proved, by a check that requires the session's
//! password, and the one that the peer chose. The peer may choose in its very first check, and choose again later; the newest
//! choice counts.
//!
//! Invariants: the agent keeps a bounded number of addresses; only authenticated requests are answered; only requests prove an
//! address, because a lite agent sends none itself.
//!
//! [`crate::mux`] finds the agent by the name in the check and drives it.

mod agent;
mod check;
mod credentials;
#[cfg(test)]
mod tests;

pub(crate) use check::CHECK_LEN_MAX;

pub use agent::{Agent, Answered};
pub use check::{Check, CheckError, looks_like_check, username};
pub use credentials::{Credentials, RANDOM_LEN};

use std::net::{IpAddr, SocketAddr};

/// Transport of datagrams to a peer's address.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Transport {
    /// As UDP datagrams.
    Udp,
    /// Framed on a TCP connection that the peer opened (RFC 6544).
    Tcp,
}

/// Network path to a peer.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Path {
    /// Address of the peer as we see it.
    pub remote: SocketAddr,
    /// Our address that the peer uses, if we have several.
    pub local: Option<IpAddr>,
    /// Transport of the datagrams.
    pub transport: Transport,
}

impl Path {
    /// Creates the path to a UDP address.
    pub const fn udp(remote: SocketAddr) -> Self {
        Self {
            remote,
            local: None,
            transport: Transport::Udp,
        }
    }

    /// Creates the path over the TCP connection from this address.
    pub const fn tcp(remote: SocketAddr) -> Self {
        Self {
            remote,
            local: None,
            transport: Transport::Tcp,
        }
    }

    /// Returns this path with our address set to `local`.
    pub const fn to_local(self, local: Option<IpAddr>) -> Self {
        Self { local, ..self }
    }
}
