//! Options for the sockets of listeners and publishers.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// Unsent bytes that the kernel keeps per listener before it reports the socket full. Small, so that a
/// backlog stays in the log, where it can be skipped; large enough that one message of a usual video stream
/// fits.
pub const NOTSENT_LOWAT_BYTES: u32 = 128 * 1024;

/// Longest time that sent bytes may stay unacknowledged before the kernel gives the connection up. A listener
/// that vanished without a word is noticed within this time of the next send.
pub const USER_TIMEOUT: Duration = Duration::from_secs(20);

/// Idle time before the first keep-alive probe, and between probes: it finds peers that vanished
/// while nothing was being sent.
const KEEPALIVE: Duration = Duration::from_secs(10);

const KEEPALIVE_PROBES: u32 = 3;

/// Most connections that may wait to be accepted.
const BACKLOG: i32 = 1_024;

/// Listens on a port together with other sockets of this user that do the same: the kernel spreads
/// connections over them. The listener does not block. An unspecified IPv6 address accepts connections of
/// both families.
///
/// # Errors
/// Those of `socket`, `bind` and `listen`.
pub fn listen_shared(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Prepares an accepted socket that will carry a live stream to a listener.
///
/// # Errors
/// The peer has already left.
pub fn prepare_listener<S: std::os::fd::AsFd>(socket: &S) -> io::Result<()> {
    let socket = SockRef::from(socket);
    // Messages are combined in the log; Nagle's algorithm would only delay the last segment.
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(NOTSENT_LOWAT_BYTES)?;
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    keep_alive(&socket)
}

/// Prepares an accepted socket before it is known what it will carry.
///
/// # Errors
/// The peer has already left.
pub fn prepare_accepted<S: std::os::fd::AsFd>(socket: &S) -> io::Result<()> {
    let socket = SockRef::from(socket);
    socket.set_tcp_nodelay(true)?;
    keep_alive(&socket)
}

fn keep_alive(socket: &SockRef<'_>) -> io::Result<()> {
    let probes = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE)
        .with_retries(KEEPALIVE_PROBES);
    socket.set_tcp_keepalive(&probes)
}
