//! Non-blocking connections, spread over many source addresses.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::event::{Timespec, epoll};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, Socket, Type};

use crate::clock::wall_at;

/// First source address for a server on the loopback.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);
/// Number of source addresses that connections use in turn, as if they came from the internet, so that a server's limits per
/// address are not reached. Each address has so few of its 28,000 ports in use that a free one is found at once, and binding
/// needs no `IP_BIND_ADDRESS_NO_PORT`.
const ADDRESSES: u64 = 4_096;

/// Receive buffer in bytes for datagrams that arrive while a loop is busy: seconds of media, and a whole keyframe.
const DATAGRAM_BUFFER: usize = 1 << 20;

/// Number of bytes that a read or a write moved; `None` if nothing moves now. The error means that the peer is gone.
pub(crate) type Moved = Result<Option<usize>, &'static str>;

/// Waits until sockets are ready, for at most `pause` nanoseconds; returns `None` if a signal came first.
pub(crate) fn ready<'a>(
    epoll: &OwnedFd,
    room: &'a mut [MaybeUninit<epoll::Event>],
    pause: u64,
) -> io::Result<Option<&'a [epoll::Event]>> {
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: pause as _,
    };
    match epoll::wait(epoll, room, Some(&pause)) {
        Ok((ready, _)) => Ok(Some(ready)),
        Err(rustix::io::Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes events of `socket` carry `token`.
pub(crate) fn watch(
    epoll: &OwnedFd,
    socket: &OwnedFd,
    token: usize,
    flags: epoll::EventFlags,
) -> Result<(), String> {
    let data = epoll::EventData::new_u64(token as u64);
    epoll::add(epoll, socket, data, flags).map_err(|error| format!("not watched: {error}"))
}

/// Begins to connect member `number` of the load. On the loopback, it uses a source address that few others share; elsewhere
/// the system chooses.
pub(crate) fn connect(
    to: SocketAddr,
    number: u64,
    receive_buffer: Option<usize>,
) -> Result<OwnedFd, String> {
    begin(to, number, receive_buffer).map_err(|error| format!("no connection: {error}"))
}

fn begin(to: SocketAddr, number: u64, receive_buffer: Option<usize>) -> io::Result<OwnedFd> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), None)?;
    if let Some(bytes) = receive_buffer {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.set_tcp_nodelay(true)?;
    if let Some(from) = source(to.ip(), number) {
        socket.bind(&SocketAddr::new(from, 0).into())?;
    }
    match socket.connect(&to.into()) {
        Err(error)
            if error.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) =>
        {
            Err(error)
        }
        _ => Ok(socket.into()),
    }
}

/// Opens a UDP socket of member `number` of the load that exchanges datagrams only with `to`. Its source address is chosen as
/// for TCP connections.
pub(crate) fn converse(to: SocketAddr, number: u64) -> io::Result<OwnedFd> {
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM.nonblocking(), None)?;
    // The kernel grants what its limits allow.
    socket.set_recv_buffer_size(DATAGRAM_BUFFER)?;
    if let Some(from) = source(to.ip(), number) {
        socket.bind(&SocketAddr::new(from, 0).into())?;
    }
    socket.connect(&to.into())?;
    Ok(socket.into())
}

/// Returns the reason why the connection failed, if it did.
pub(crate) fn connect_result(socket: &OwnedFd) -> Result<(), String> {
    let outcome = rustix::net::sockopt::socket_error(socket).and_then(|outcome| outcome);
    outcome.map_err(|error| format!("no connection: {}", io::Error::from(error)))
}

/// Reads what is available, at most one buffer.
pub(crate) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Moved {
    moved(
        recv(socket, buffer, RecvFlags::DONTWAIT).map(|(_, length)| length),
        true,
    )
}

/// Reads what is available, at most one buffer, and returns when the last of it arrived, wall clock, if the kernel was asked to
/// [note](net::arrival::note) it.
pub(crate) fn receive_timed(socket: &OwnedFd, buffer: &mut [u8]) -> (Moved, Option<u64>) {
    match net::arrival::receive(socket, buffer) {
        Ok((length, at)) => (moved(Ok(length), true), at.map(wall_at)),
        Err(error) => (moved(Err(error), true), None),
    }
}

/// Reads one datagram. An empty datagram counts as none, and a refusal does not affect the others: the server may be about to
/// open its socket.
pub(crate) fn receive_datagram(socket: &OwnedFd, buffer: &mut [u8]) -> Moved {
    match recv(socket, buffer, RecvFlags::DONTWAIT) {
        Ok((_, length)) => Ok(Some(length)),
        Err(
            rustix::io::Errno::AGAIN | rustix::io::Errno::INTR | rustix::io::Errno::CONNREFUSED,
        ) => Ok(None),
        Err(_) => Err("the socket broke"),
    }
}

/// Lets the kernel discard what is available, at most one buffer, instead of copying it (tcp(7)).
pub(crate) fn discard(socket: &OwnedFd, buffer: &mut [u8]) -> Moved {
    let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
    moved(recv(socket, buffer, flags).map(|(_, length)| length), true)
}

/// Writes what the socket takes.
pub(crate) fn transmit(socket: &OwnedFd, bytes: &[u8]) -> Moved {
    moved(
        send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
        false,
    )
}

/// Sends a datagram. A full socket drops it, as networks do, and a refusal means nothing: the server may come back.
pub(crate) fn transmit_datagram(socket: &OwnedFd, datagram: &[u8]) -> Result<(), &'static str> {
    use rustix::io::Errno;
    match send(socket, datagram, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::CONNREFUSED) => Ok(()),
        Err(_) => Err("the socket broke"),
    }
}

/// Writes a short message to a socket that has room for it.
pub(crate) fn say(socket: &OwnedFd, bytes: &[u8]) -> Result<(), &'static str> {
    match transmit(socket, bytes)? {
        Some(length) if length == bytes.len() => Ok(()),
        _ => Err("it does not read what it is sent"),
    }
}

/// Sends the first message and watches the socket, now that the connection of the member at `place` is made or has failed.
pub(crate) fn greet(
    socket: &OwnedFd,
    words: &[u8],
    epoll: &OwnedFd,
    place: usize,
) -> Result<(), String> {
    connect_result(socket)?;
    say(socket, words)?;
    let data = epoll::EventData::new_u64(place as u64);
    epoll::modify(epoll, socket, data, epoll::EventFlags::IN)
        .map_err(|error| format!("not watched: {error}"))
}

fn moved(result: rustix::io::Result<usize>, reading: bool) -> Moved {
    match result {
        Ok(0) if reading => Err("closed by the server"),
        Ok(length) => Ok(Some(length)),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
        Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::PIPE) => Err("reset by the server"),
        Err(_) => Err("the connection broke"),
    }
}

fn source(to: IpAddr, number: u64) -> Option<IpAddr> {
    let IpAddr::V4(to) = to else {
        return None;
    };
    let place = (number % ADDRESSES) as u32;
    to.is_loopback()
        .then(|| IpAddr::V4(Ipv4Addr::from_bits(FIRST_ADDRESS.to_bits() + place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_has_many_addresses() {
        let from = |to: &str, number| source(to.parse().expect("an address"), number);
        assert_eq!(from("127.0.0.1", 0), Some(IpAddr::V4(FIRST_ADDRESS)));
        let fifth = IpAddr::V4(Ipv4Addr::new(127, 1, 0, 6));
        assert_eq!(from("127.0.0.1", 5), Some(fifth));
        assert_eq!(from("127.0.0.1", ADDRESSES + 5), Some(fifth));
        assert_eq!(from("192.0.2.1", 0), None);
        assert_eq!(from("::1", 0), None);
    }
}
