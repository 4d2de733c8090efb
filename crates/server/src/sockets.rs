//! The listening sockets: what each is for, and how it is bound.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use config::Config;
use tokio::net::{TcpListener, TcpSocket};

use crate::door::Door;
use crate::door::tls::{Acceptors, Certificate};
use crate::relay::StartError;

/// Connections that may wait to be accepted: a crowd that reconnects at once. The kernel caps it at
/// `net.core.somaxconn`.
const BACKLOG: u32 = 4_096;

/// What a listening socket is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Port {
    /// Publishers and players over RTMP.
    Rtmp,
    /// The same over TLS.
    Rtmps,
    /// Listeners, sources and pages.
    Http,
    /// The same over TLS.
    Https,
    /// The media of WebRTC sessions.
    Webrtc,
    /// The operator.
    Admin,
}

impl Port {
    /// The word in the start-up notice.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rtmp => "rtmp",
            Self::Rtmps => "rtmps",
            Self::Http => "http",
            Self::Https => "https",
            Self::Webrtc => "webrtc",
            Self::Admin => "admin",
        }
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

/// A bound socket and the door it belongs to; the operator's port has none.
pub(crate) type Socket = (Bound, TcpListener, Option<Door>);

/// Binds every TCP socket of a configuration. `certificate` is what the ports behind TLS show.
///
/// # Errors
/// When an address cannot be bound, or the certificate is of no use.
pub(crate) fn bind(
    config: &Config,
    certificate: Option<&Arc<Certificate>>,
) -> Result<Vec<Socket>, StartError> {
    let Config {
        rtmp, http, admin, ..
    } = config;
    let mut sockets = Vec::new();
    let mut add = |port, address, all: &[SocketAddr], door: Option<Door>| {
        let bound = listen(address, has_ipv4_twin(address, all))
            .and_then(|socket| Ok((socket.local_addr()?, socket)))
            .map_err(|source| StartError::Bind {
                port,
                address,
                source,
            });
        bound.map(|(address, socket)| sockets.push((Bound { port, address }, socket, door)))
    };
    for address in &rtmp.listen {
        add(Port::Rtmp, *address, &rtmp.listen, Some(Door::Rtmp))?;
    }
    for address in &http.listen {
        add(Port::Http, *address, &http.listen, Some(Door::Http))?;
    }
    if let Some(certificate) = certificate {
        let Acceptors { https, rtmps } = certificate.acceptors()?;
        for address in &rtmp.tls_listen {
            add(
                Port::Rtmps,
                *address,
                &rtmp.tls_listen,
                Some(Door::Rtmps(rtmps.clone())),
            )?;
        }
        for address in &http.tls_listen {
            add(
                Port::Https,
                *address,
                &http.tls_listen,
                Some(Door::Https(https.clone())),
            )?;
        }
    }
    add(Port::Admin, admin.listen, &[], None)?;
    Ok(sockets)
}

/// Whether an IPv6 address is listed beside an IPv4 address with the same port. The system would have
/// its socket take IPv4 as well, which the other one then cannot.
fn has_ipv4_twin(address: SocketAddr, all: &[SocketAddr]) -> bool {
    let is_twin = |other: &SocketAddr| other.is_ipv4() && other.port() == address.port();
    address.is_ipv6() && all.iter().any(is_twin)
}

fn listen(address: SocketAddr, is_ipv6_only: bool) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    if is_ipv6_only {
        rustix::net::sockopt::set_ipv6_v6only(&socket, true)?;
    }
    // A restart must not wait for the connections of the previous run.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_families_listen_on_one_port() {
        let ipv4: SocketAddr = "0.0.0.0:0".parse().expect("an address");
        let first = listen(ipv4, false).expect("any port");
        let port = first.local_addr().expect("bound").port();
        let pair = [ipv4, "[::]:0".parse().expect("an address")].map(|mut address| {
            address.set_port(port);
            address
        });
        let ipv6 = pair[1];
        assert!(!has_ipv4_twin(pair[0], &pair) && !has_ipv4_twin(ipv6, &[ipv6]));
        let second = listen(ipv6, has_ipv4_twin(ipv6, &pair));
        let second = second.expect("beside the IPv4 socket");
        assert_eq!(second.local_addr().expect("bound").port(), port);
        drop((first, second));
        // Alone it takes both.
        let alone = listen(ipv6, has_ipv4_twin(ipv6, &[ipv6])).expect("free again");
        let connected = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
        assert!(connected.is_ok() && alone.accept().await.is_ok());
    }
}
