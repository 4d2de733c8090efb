//! UDP port with many peers: datagrams are received in batches, and runs of datagrams to one peer are passed
//! to the kernel in one call.
//!
//! ```text
//! kernel ─ recvmmsg ─► Inbox ─► (from, to, bytes)…
//! (to, from, bytes, segment) ─┬─ sendmsg with UDP_SEGMENT ─► n datagrams
//!                             └─ sendmmsg, where the former does not work
//! ```
//!
//! Several [`Socket`]s may share a port; the kernel spreads peers over them by address. A socket that is
//! bound to every address of the host reports which of them a peer used, and replies from that one. Addresses
//! are canonical in both directions: an IPv4 peer of an IPv6 socket has an IPv4 address.

mod address;
mod control;
mod inbox;
mod probe;
#[allow(unsafe_code, reason = "the kernel is given the addresses of memory")]
pub(crate) mod sys;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Type};

use self::address::{Family, Name};
use self::control::Control;
pub use self::inbox::{BATCH, Datagram, Inbox};

/// Most datagrams that one call may send: the kernel's `UDP_MAX_SEGMENTS`, which newer kernels have doubled.
pub const SEGMENTS_MAX: usize = 64;

/// Most bytes that one call may send: the capacity of an IPv4 packet.
pub const LEN_MAX: usize = 65_507;

/// Size of the kernel's buffer in each direction, in bytes: a keyframe of 80 KB for a hundred viewers, or the
/// feedback of thousands while a worker is busy. The kernel grants up to `net.core.rmem_max` and `wmem_max`,
/// or all of it with `CAP_NET_ADMIN`.
const BUFFER_BYTES: usize = 8 * 1024 * 1024;

/// One socket of a port.
#[derive(Debug)]
pub struct Socket {
    socket: socket2::Socket,
    family: Family,
    address: SocketAddr,
    /// Whether the kernel cuts runs of datagrams (UDP_SEGMENT).
    can_segment: bool,
}

/// Outcome of a send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Sent {
    /// The kernel took everything.
    Whole,
    /// The kernel took this many datagrams of a run, which were passed to it one by one, and no more.
    Part(usize),
    /// The socket is full, and nothing was taken. It becomes writable when there is room.
    Full,
    /// The system is short of memory, and nothing was taken. No event follows when there is more.
    Exhausted,
    /// A datagram of this length cannot travel there.
    TooLong,
    /// The peer is unreachable at present: no route, a filter, or a local address that no longer exists.
    Unreachable,
}

impl Socket {
    /// Binds a port exclusively.
    ///
    /// # Errors
    /// Those of `socket` and `bind`.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::open(address, |_| Ok(()))
    }

    /// Binds a port together with other sockets of this user that are bound with this function.
    ///
    /// # Errors
    /// Those of `socket` and `bind`.
    pub fn bind_shared(address: SocketAddr) -> io::Result<Self> {
        Self::open(address, |socket| socket.set_reuse_port(true))
    }

    fn open(
        address: SocketAddr,
        prepare: impl FnOnce(&socket2::Socket) -> io::Result<()>,
    ) -> io::Result<Self> {
        let domain = Domain::for_address(address);
        let family = match address {
            SocketAddr::V4(_) => Family::V4,
            SocketAddr::V6(_) => Family::V6,
        };
        let is_any = address.ip().is_unspecified();
        let socket = socket2::Socket::new(domain, Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        if family == Family::V6 {
            socket.set_only_v6(!is_any)?;
        }
        prepare(&socket)?;
        if is_any {
            control::tell_local(socket.as_fd(), family)?;
        }
        sys::enlarge_buffers(socket.as_fd(), BUFFER_BYTES);
        socket.bind(&address.into())?;
        let bound = socket.local_addr()?.as_socket();
        Ok(Self {
            socket,
            family,
            address: bound.unwrap_or(address),
            can_segment: probe::can_segment(),
        })
    }

    /// Returns the address that the socket is bound to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether runs of datagrams are still passed to the kernel in one piece.
    pub fn can_segment(&self) -> bool {
        self.can_segment
    }

    /// Returns the sizes of the kernel's buffers in bytes: for receiving, and for sending.
    ///
    /// # Errors
    /// Those of `getsockopt`.
    pub fn buffer_sizes(&self) -> io::Result<(usize, usize)> {
        let received = self.socket.recv_buffer_size()?;
        Ok((received, self.socket.send_buffer_size()?))
    }

    /// Receives the datagrams that have arrived, at most [`BATCH`], and returns their number.
    ///
    /// # Errors
    /// The kernel has no memory. A pending failure of an earlier send is not an error here.
    pub fn receive(&self, inbox: &mut Inbox) -> io::Result<usize> {
        inbox.fill(self.socket.as_fd())
    }

    /// Sends `bytes`, cut into datagrams of `segment` bytes of which the last may be shorter: at most
    /// [`SEGMENTS_MAX`] of them, and at most [`LEN_MAX`] bytes. `from` is the local address that the peer
    /// uses, if this host has several.
    pub fn send(
        &mut self,
        to: SocketAddr,
        from: Option<IpAddr>,
        bytes: &[u8],
        segment: usize,
    ) -> Sent {
        let Some(name) = Name::new(to, self.family) else {
            return Sent::Unreachable;
        };
        let mut control = Control::default();
        if let Some(from) = from {
            control.push_local(from, self.family);
        }
        let socket = self.socket.as_fd();
        if bytes.len() <= segment {
            return outcome(sys::send(socket, &name, bytes, &control));
        }
        if self.can_segment
            && let Ok(segment) = u16::try_from(segment)
        {
            let mut with_segment = control;
            with_segment.push_segment(segment);
            match sys::send(socket, &name, bytes, &with_segment) {
                // The device cannot compute the checksums of the datagrams that it would have to cut; it
                // never will.
                Err(Errno::IO) => self.can_segment = false,
                // The path is too narrow: the kernel takes single datagrams apart, but not those of a run.
                Err(Errno::INVAL | Errno::MSGSIZE) => {}
                sent => return outcome(sent),
            }
        }
        send_each(self.socket.as_fd(), &name, bytes, segment, &control)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sends a run datagram by datagram, with as few calls as possible.
fn send_each(
    socket: BorrowedFd<'_>,
    name: &Name,
    bytes: &[u8],
    segment: usize,
    control: &Control,
) -> Sent {
    let segment = segment.max(1);
    let count = bytes.len().div_ceil(segment);
    let mut sent = 0;
    // Each call takes at least one datagram, or fails.
    while sent < count {
        match sys::send_each(socket, name, &bytes[sent * segment..], segment, control) {
            Ok(more) => sent += more.max(1),
            Err(errno) if sent == 0 => return outcome(Err(errno)),
            Err(_) => return Sent::Part(sent),
        }
    }
    Sent::Whole
}

fn outcome(sent: Result<usize, Errno>) -> Sent {
    match sent {
        Ok(_) => Sent::Whole,
        // A signal that interrupts a non-blocking send leaves the socket as it was.
        Err(Errno::AGAIN | Errno::INTR) => Sent::Full,
        Err(Errno::NOBUFS | Errno::NOMEM) => Sent::Exhausted,
        Err(Errno::MSGSIZE) => Sent::TooLong,
        Err(_) => Sent::Unreachable,
    }
}

/// Returns the local address that leads to `remote`, if there is a route. Nothing is sent.
pub fn local_towards(remote: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = match remote {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = std::net::UdpSocket::bind(any).ok()?;
    socket.connect(remote).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then_some(ip)
}
