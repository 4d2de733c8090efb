//! A bad network between a client and a server, for UDP and for TCP: it loses, delays, reorders and throttles packets, by a
//! seed and therefore identically on every run.
//!
//! ```text
//! client ─► [our address] ─ up ──► loss, rate, delay ─► a socket per client ─► server
//!        ◄──────────────── down ◄──                  ◄─
//! ```
//!
//! Over UDP, it acts like a router with address translation: each client has its own socket towards the server, and datagrams
//! are not changed.

mod link;
mod tcp;
mod udp;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

pub use link::{Impairment, Passage};

use crate::process::locked;
use link::Link;

/// A proxy in a thread of this process. It ends on drop.
#[derive(Debug)]
pub struct Impaired {
    addr: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by the proxy's threads and its owner.
#[derive(Debug)]
struct Shared {
    /// Links from clients to the server, and back.
    up: Mutex<Link>,
    down: Mutex<Link>,
    rebinds: AtomicBool,
    ends: AtomicBool,
}

impl Shared {
    fn up(&self) -> MutexGuard<'_, Link> {
        locked(&self.up)
    }

    fn down(&self) -> MutexGuard<'_, Link> {
        locked(&self.down)
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

impl Impaired {
    /// Passes datagrams between senders to [`Impaired::addr`] and `upstream`. The two directions have the same seed but
    /// independent losses.
    ///
    /// # Panics
    /// Panics if no socket can be opened.
    #[must_use]
    pub fn udp(upstream: SocketAddr, up: Impairment, down: Impairment) -> Self {
        Self::udp_at(any_port(upstream), upstream, up, down)
    }

    /// Passes datagrams as [`udp`](Self::udp) does, at a given address, for clients that use the address that the server
    /// states.
    ///
    /// # Panics
    /// Panics if no socket can be opened there.
    #[must_use]
    pub fn udp_at(
        local: SocketAddr,
        upstream: SocketAddr,
        up: Impairment,
        down: Impairment,
    ) -> Self {
        let socket = std::net::UdpSocket::bind(local);
        let socket = socket.unwrap_or_else(|error| panic!("no UDP socket: {error}"));
        let addr = socket.local_addr();
        Self::start(addr, up, down, move |shared| {
            udp::run(&socket, upstream, shared);
        })
    }

    /// Passes bytes between clients of [`Impaired::addr`] and `upstream`: late, and no faster than allowed. TCP's own
    /// retransmissions happen below the proxy, so nothing is lost or reordered.
    ///
    /// # Panics
    /// Panics if no socket can be opened.
    #[must_use]
    pub fn tcp(upstream: SocketAddr, up: Impairment, down: Impairment) -> Self {
        let listener = std::net::TcpListener::bind(any_port(upstream));
        let listener = listener.unwrap_or_else(|error| panic!("no TCP socket: {error}"));
        let addr = listener.local_addr();
        Self::start(addr, up, down, move |shared| {
            tcp::run(&listener, upstream, shared);
        })
    }

    fn start(
        addr: std::io::Result<SocketAddr>,
        up: Impairment,
        down: Impairment,
        run: impl FnOnce(&Arc<Shared>) + Send + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            up: Mutex::new(Link::new(up, 1)),
            down: Mutex::new(Link::new(down, 2)),
            rebinds: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        });
        let thread = std::thread::spawn({
            let shared = shared.clone();
            move || run(&shared)
        });
        Self {
            addr: addr.unwrap_or_else(|error| panic!("no address: {error}")),
            shared,
            thread: Some(thread),
        }
    }

    /// Returns the address to which clients send or connect.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Changes the impairment of both directions. Packets in flight keep their arrival times.
    pub fn impair(&self, up: Impairment, down: Impairment) {
        self.shared.up().impair(up);
        self.shared.down().impair(down);
    }

    /// Makes the server see every UDP client on another port from now on, as after a router's restart.
    pub fn rebind(&self) {
        self.shared.rebinds.store(true, Ordering::Relaxed);
    }

    /// Returns the counts of the datagrams, or pieces of a byte stream, from clients.
    pub fn up(&self) -> Passage {
        self.shared.up().passage()
    }

    /// Returns the counts of the datagrams, or pieces of a byte stream, to clients.
    pub fn down(&self) -> Passage {
        self.shared.down().passage()
    }
}

impl Drop for Impaired {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed.
            drop(thread.join());
        }
    }
}

/// Returns any free port of the loopback, in the same family as `of`.
fn any_port(of: SocketAddr) -> SocketAddr {
    let ip = match of {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::time::{Duration, Instant};

    use super::*;

    const PATIENCE: Duration = crate::DEADLINE;

    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        socket
    }

    fn received(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
        let mut buffer = [0; 2_000];
        let (length, from) = socket.recv_from(&mut buffer).expect("a datagram");
        (buffer[..length].to_vec(), from)
    }

    #[test]
    fn clients_are_distinguished_and_answered() {
        let server = socket();
        let upstream = server.local_addr().expect("an address");
        let proxy = Impaired::udp(upstream, Impairment::NONE, Impairment::NONE);
        let clients = [socket(), socket()];
        let mut ports = BTreeSet::new();
        for (number, client) in clients.iter().enumerate() {
            client.send_to(&[number as u8], proxy.addr()).expect("sent");
            let (datagram, from) = received(&server);
            assert_eq!(datagram, [number as u8]);
            ports.insert(from.port());
            server.send_to(&[number as u8 + 100], from).expect("sent");
        }
        for (number, client) in clients.iter().enumerate() {
            assert_eq!(received(client), (vec![number as u8 + 100], proxy.addr()));
        }
        assert_eq!(ports.len(), 2);
        proxy.rebind();
        clients[0].send_to(&[9], proxy.addr()).expect("sent");
        let (_, from) = received(&server);
        assert!(!ports.contains(&from.port()));
        server.send_to(&[109], from).expect("sent");
        assert_eq!(received(&clients[0]).0, [109]);
        assert_eq!((proxy.up().passed, proxy.down().passed), (3, 3));
    }

    #[test]
    fn what_the_link_says_happens_to_datagrams() {
        let server = socket();
        let upstream = server.local_addr().expect("an address");
        let delay = Duration::from_millis(30);
        let up = Impairment {
            loss: 0.25,
            delay,
            seed: 5,
            ..Impairment::NONE
        };
        let proxy = Impaired::udp(upstream, up, Impairment::NONE);
        // The same seed predicts which packets are lost.
        let mut link = Link::new(up, 1);
        let now = Instant::now();
        let expected: Vec<u8> = (0..100).filter(|_| link.pass(1, now).is_some()).collect();
        assert!((50..95).contains(&expected.len()), "{}", expected.len());
        let client = socket();
        let began = Instant::now();
        for number in 0..100 {
            client.send_to(&[number], proxy.addr()).expect("sent");
        }
        let came: Vec<u8> = expected.iter().map(|_| received(&server).0[0]).collect();
        assert_eq!(came, expected);
        assert!(began.elapsed() >= delay);
        assert_eq!(proxy.up().lost, 100 - expected.len() as u64);
    }

    #[test]
    fn byte_streams_come_late_and_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let upstream = listener.local_addr().expect("an address");
        let delay = Duration::from_millis(20);
        let slow = Impairment {
            delay,
            rate: Some(8_000_000),
            ..Impairment::NONE
        };
        let proxy = Impaired::tcp(upstream, slow, slow);
        let mut client = TcpStream::connect(proxy.addr()).expect("connected");
        client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (mut server, _) = listener.accept().expect("a connection");
        server.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let sent: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
        let began = Instant::now();
        client.write_all(&sent).expect("written");
        let mut came = vec![0; sent.len()];
        server.read_exact(&mut came).expect("all of it");
        // A hundred milliseconds for the bytes, except the last piece, plus the delay.
        assert!(began.elapsed() >= Duration::from_millis(90) + delay);
        assert!(came == sent);
        server.write_all(b"yes").expect("written");
        drop(server);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).expect("an end");
        assert_eq!(answer, b"yes");
    }
}
