//! Listening TCP sockets: the public ports, plain and behind TLS, and the operator's.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use config::{Admin, Config};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use web::tls::Certificate;

use super::phase::{Phase, Shown};
use super::{Run, Service, http, rtmp};
use crate::door::{self, Door, Protocols};
use crate::ports::{Bound, Port};
use crate::start_error::StartError;

/// Number of connections that may wait to be accepted, enough for a crowd that reconnects at once. The kernel caps it at
/// `net.core.somaxconn`.
const BACKLOG: u32 = 4_096;

/// The sockets of the public ports.
#[derive(Default)]
pub(crate) struct Doors(Vec<(Bound, TcpListener, Door)>);

impl Doors {
    /// Binds the configured addresses of all protocols. TLS ports present `certificate`; without it there are none.
    ///
    /// # Errors
    /// Returns an error if an address cannot be bound, or the certificate is unusable.
    pub(crate) fn bind(
        config: &Config,
        certificate: Option<&Arc<Certificate>>,
    ) -> Result<Self, StartError> {
        let tls = certificate.map(Certificate::handshakes).transpose()?;
        let rtmps = tls.as_ref().map(|tls| tls.rtmps.clone());
        let mut doors = Self::default();
        rtmp::bind(&mut doors, &config.rtmp, rtmps)?;
        http::bind(&mut doors, &config.http, tls)?;
        doors.add(Port::Shoutcast, &config.shoutcast.listen, &Door::Shoutcast)?;
        Ok(doors)
    }

    /// Binds every address of a port.
    ///
    /// # Errors
    /// Returns an error if an address cannot be bound.
    pub(super) fn add(
        &mut self,
        port: Port,
        all: &[SocketAddr],
        door: &Door,
    ) -> Result<(), StartError> {
        for address in all {
            let (bound, socket) = bind(port, *address, all)?;
            self.0.push((bound, socket, door.clone()));
        }
        Ok(())
    }

    /// Returns the addresses of the sockets.
    pub(crate) fn bound(&self) -> impl Iterator<Item = Bound> {
        self.0.iter().map(|(bound, _, _)| *bound)
    }
}

/// Service that accepts connections on the public ports.
pub(super) struct PublicPorts {
    pub(super) doors: Doors,
    pub(super) protocols: Arc<Protocols>,
}

impl Service for PublicPorts {
    fn until(&self) -> Phase {
        Phase::Closed
    }

    /// Accepts connections until the ports close.
    fn run(self: Box<Self>, phase: Shown) -> Run {
        let mut loops = JoinSet::new();
        for (_, socket, door) in self.doors.0 {
            let accepting = door::accept(socket, door, Arc::clone(&self.protocols));
            loops.spawn(phase.clone().cut(Phase::Closed, accepting));
        }
        Box::pin(async move { while loops.join_next().await.is_some() {} })
    }
}

/// Binds the operator's port.
///
/// # Errors
/// Returns an error if the port cannot be bound.
pub(crate) fn bind_operators(config: &Admin) -> Result<(Bound, TcpListener), StartError> {
    bind(Port::Admin, config.listen, &[])
}

/// Binds one address; `all` lists every address of the port.
///
/// # Errors
/// Returns an error if the address cannot be bound.
fn bind(
    port: Port,
    address: SocketAddr,
    all: &[SocketAddr],
) -> Result<(Bound, TcpListener), StartError> {
    let bound = listen(address, has_ipv4_twin(address, all))
        .and_then(|socket| Ok((socket.local_addr()?, socket)));
    match bound {
        Ok((address, socket)) => Ok((Bound { port, address }, socket)),
        Err(source) => Err(StartError::Bind {
            port,
            address,
            source,
        }),
    }
}

/// Returns whether an IPv6 address is listed next to an IPv4 address with the same port. By default, the system lets an IPv6
/// socket take IPv4 as well, so the IPv4 socket could not be bound.
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
        // Alone, the socket takes both.
        let alone = listen(ipv6, has_ipv4_twin(ipv6, &[ipv6])).expect("free again");
        let connected = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
        assert!(connected.is_ok() && alone.accept().await.is_ok());
    }
}
