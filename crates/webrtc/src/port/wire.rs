//! Sockets of one worker, which send datagrams over UDP and TCP; and a role's outlet, which seals nothing except reports.

use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use net::udp;
use net::{Interest, Poller};

use super::Counters;
use super::connections::Connections;
use crate::ice::{Path, Transport};
use crate::mux::{Handle, Mux};

/// Poller's number of the UDP socket.
pub(super) const UDP: u64 = 0;
/// Poller's number of the TCP listener. Those of connections are greater.
pub(super) const LISTENER: u64 = 1;

/// Pause of sending when the system is short of memory: no event announces the end of the shortage.
const EXHAUSTED_BACKOFF: Duration = Duration::from_millis(1);

/// Result of a send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Sent {
    /// The datagrams were sent. They may still be lost on the way.
    Sent,
    /// There is no room and nothing was sent. When there is room again, the role is given a turn.
    Blocked,
    /// The path is closed for good: it was a TCP connection, and the peer has hung up. A peer that has another path may still
    /// move.
    Gone,
}

/// Outlet of a role, during a call to it.
pub struct Outbox<'a> {
    mux: &'a mut Mux,
    wire: &'a mut Wire,
    now: Instant,
}

impl<'a> Outbox<'a> {
    pub(super) fn new(mux: &'a mut Mux, wire: &'a mut Wire, now: Instant) -> Self {
        Self { mux, wire, now }
    }

    /// Largest number of datagrams in one send.
    pub const SEGMENTS_MAX: usize = udp::SEGMENTS_MAX;

    /// Bytes in [`Outbox::buffer`]: as many datagrams of 1,500 bytes.
    pub const LEN_MAX: usize = Self::SEGMENTS_MAX * 1_500;

    /// Returns the buffer of the next send. It contains leftovers of earlier sends.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.wire.buffer
    }

    /// Sends the first `len` bytes of the buffer, cut into datagrams of `segment` bytes of which the last may be shorter. The
    /// kernel gets up to 64 KiB of them in one call.
    pub fn send(&mut self, path: Path, len: usize, segment: usize) -> Sent {
        self.wire.send_buffer(path, len, segment, self.now)
    }

    /// Seals a compound packet for a session's peer, to be sent as soon as the role returns. Does nothing if the session is
    /// over.
    pub fn rtcp(&mut self, session: Handle, compound: &[u8]) {
        if let Err(error) = self.mux.send_rtcp(session, compound) {
            tracing::trace!(?session, %error, "a report was not sent");
        }
    }

    /// Ends a session: the peer is notified, and the role is not called for it again.
    pub fn close(&mut self, session: Handle) {
        self.mux.close(session, self.now);
    }
}

/// Sockets and buffer of one worker.
pub(super) struct Wire {
    pub(super) poller: Poller,
    pub(super) udp: Udp,
    pub(super) listener: Option<TcpListener>,
    pub(super) connections: Connections,
    pub(super) buffer: Box<[u8]>,
}

impl Wire {
    pub(super) fn new(socket: udp::Socket, listener: Option<TcpListener>) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&socket, UDP, Interest::Input)?;
        if let Some(listener) = &listener {
            poller.watch(listener, LISTENER, Interest::Input)?;
        }
        Ok(Self {
            poller,
            udp: Udp {
                socket,
                full: None,
                traffic: Counters::default(),
            },
            listener,
            connections: Connections::default(),
            buffer: vec![0; Outbox::LEN_MAX].into(),
        })
    }

    /// Sends the first `len` bytes of the buffer.
    pub(super) fn send_buffer(
        &mut self,
        path: Path,
        len: usize,
        segment: usize,
        now: Instant,
    ) -> Sent {
        debug_assert!(0 < segment && len <= Outbox::SEGMENTS_MAX * segment);
        let segment = segment.max(1);
        let bytes = &self.buffer[..len.min(self.buffer.len())];
        match path.transport {
            Transport::Udp => self.udp.send(path, bytes, segment, now, &self.poller),
            Transport::Tcp => {
                let sent = self.connections.send(path, bytes, segment, &self.poller);
                self.udp.traffic.blocked += u64::from(sent == Sent::Blocked);
                sent
            }
        }
    }

    /// Sends one datagram that its peer will request again if it is lost.
    pub(super) fn send(&mut self, path: Path, datagram: &[u8], now: Instant) {
        let segment = datagram.len().max(1);
        let sent = match path.transport {
            Transport::Udp => self.udp.send(path, datagram, segment, now, &self.poller),
            Transport::Tcp => self.connections.send(path, datagram, segment, &self.poller),
        };
        self.udp.traffic.lost += u64::from(sent != Sent::Sent);
    }

    /// Stops or resumes listening.
    pub(super) fn listen(&self, on: bool) -> io::Result<()> {
        match (&self.listener, on) {
            (None, _) => Ok(()),
            (Some(listener), true) => self.poller.watch(listener, LISTENER, Interest::Input),
            (Some(listener), false) => self.poller.unwatch(listener),
        }
    }

    /// Returns the time of the next check whether a full socket has room.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.udp.full {
            Some(Full::Until(due)) => Some(due),
            _ => None,
        }
    }

    /// Records that the UDP socket has room again.
    pub(super) fn has_room(&mut self) {
        if self.udp.full.take() == Some(Full::Watched) {
            watch(&self.poller, &self.udp.socket, Interest::Input);
        }
    }
}

/// UDP socket of one worker.
pub(super) struct Udp {
    pub(super) socket: udp::Socket,
    full: Option<Full>,
    /// Counts of sent and lost datagrams.
    pub(super) traffic: Counters,
}

/// End of the time in which nothing is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Full {
    /// The poller reports room.
    Watched,
    /// This time is reached: no event will come.
    Until(Instant),
}

impl Udp {
    fn send(
        &mut self,
        path: Path,
        bytes: &[u8],
        segment: usize,
        now: Instant,
        poller: &Poller,
    ) -> Sent {
        if self.full.is_some() {
            // Others already wait for room: a system call for each of them would yield nothing new.
            self.traffic.blocked += 1;
            return Sent::Blocked;
        }
        let at_once = (udp::LEN_MAX / segment).clamp(1, udp::SEGMENTS_MAX) * segment;
        let mut is_begun = false;
        for run in bytes.chunks(at_once) {
            let datagrams = run.len().div_ceil(segment);
            let taken = match self.socket.send(path.remote, path.local, run, segment) {
                udp::Sent::Whole => datagrams,
                udp::Sent::Part(taken) => taken,
                // The route may return in a moment; a peer that is gone for good falls silent.
                udp::Sent::TooLong | udp::Sent::Unreachable => 0,
                full @ (udp::Sent::Full | udp::Sent::Exhausted) => {
                    self.fill(full, now, poller);
                    if !is_begun {
                        self.traffic.blocked += 1;
                        return Sent::Blocked;
                    }
                    0
                }
            };
            is_begun = true;
            self.traffic.sends += 1;
            self.traffic.datagrams += taken as u64;
            self.traffic.lost += (datagrams - taken) as u64;
        }
        Sent::Sent
    }

    /// Suspends sending until there is room again.
    fn fill(&mut self, why: udp::Sent, now: Instant, poller: &Poller) {
        self.full = Some(match why {
            udp::Sent::Full => {
                watch(poller, &self.socket, Interest::InputAndRoom);
                Full::Watched
            }
            _ => Full::Until(now + EXHAUSTED_BACKOFF),
        });
    }
}

/// Sets the events to watch. Input is always of interest; room costs an event per datagram that leaves, so it is requested only
/// when there is none.
fn watch(poller: &Poller, socket: &udp::Socket, interest: Interest) {
    if let Err(error) = poller.change(socket, UDP, interest) {
        tracing::error!(%error, "the UDP socket cannot be watched");
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use super::*;

    /// A wire, a peer and the path to it, and the time.
    fn wire() -> (Wire, UdpSocket, Path, Instant) {
        let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        peer.set_nonblocking(true).expect("an option");
        let path = Path::udp(peer.local_addr().expect("bound"));
        let socket = udp::Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        let wire = Wire::new(socket, None).expect("descriptors");
        (wire, peer, path, Instant::now())
    }

    /// The loopback queues nothing, so its sockets never fill; the test feeds in the kernel's
    /// answer instead.
    #[test]
    fn a_full_socket_is_left_alone_until_it_has_room() {
        let (mut wire, peer, path, now) = wire();
        wire.udp.fill(udp::Sent::Full, now, &wire.poller);
        assert_eq!(wire.send_buffer(path, 10, 10, now), Sent::Blocked);
        assert_eq!(wire.due(), None);
        let mut ready = Vec::new();
        let long = Some(Duration::from_secs(10));
        wire.poller.wait(long, &mut ready).expect("no error");
        assert!(ready[0].number == UDP && ready[0].has_room);
        assert_eq!(peer.recv(&mut [0; 20]).ok(), None, "nothing was sent");
        wire.has_room();
        assert_eq!(wire.send_buffer(path, 10, 10, now), Sent::Sent);
        assert_eq!(peer.recv(&mut [0; 20]).ok(), Some(10));
        // Room is no longer watched: a socket nearly always has some.
        ready.clear();
        let none = Some(Duration::ZERO);
        wire.poller.wait(none, &mut ready).expect("no error");
        assert_eq!(ready, []);
        assert_eq!((wire.udp.traffic.blocked, wire.udp.traffic.sends), (1, 1));

        wire.udp.fill(udp::Sent::Exhausted, now, &wire.poller);
        assert_eq!(wire.send_buffer(path, 10, 10, now), Sent::Blocked);
        assert_eq!(wire.due(), Some(now + EXHAUSTED_BACKOFF));
        wire.has_room();
        assert_eq!(wire.send_buffer(path, 10, 10, now), Sent::Sent);
    }

    /// 64 datagrams of 1,216 bytes exceed the longest packet that the kernel cuts up.
    #[test]
    fn long_runs_leave_in_as_few_calls_as_they_can() {
        let (mut wire, peer, path, now) = wire();
        for (at, byte) in wire.buffer.iter_mut().enumerate() {
            *byte = (at / 1_216) as u8;
        }
        let len = 63 * 1_216 + 9;
        assert_eq!(wire.send_buffer(path, len, 1_216, now), Sent::Sent);
        let mut room = [0; 2_000];
        for number in 0..64 {
            let len = peer.recv(&mut room).expect("a datagram");
            let expected = if number < 63 { 1_216 } else { 9 };
            assert_eq!((len, room[0]), (expected, number));
        }
        assert_eq!(wire.udp.traffic.datagrams, 64);
        assert_eq!(wire.udp.traffic.sends, 2);
    }
}
