//! The proxy for datagrams: one thread, one socket for all clients, and one per client towards the server.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use super::{Shared, any_port};

/// Maximum number of clients at a time: more than a test has.
const CLIENTS_MAX: usize = 4_096;
/// Maximum number of datagrams in flight: ten seconds of 100 Mb/s; more are lost.
const UNDER_WAY_MAX: usize = 100_000;
/// Length of the longest datagram in bytes.
const DATAGRAM_BYTES_MAX: usize = 65_535;
/// Longest sleep, after which the end of the owner is noticed.
const NAP: Duration = Duration::from_millis(20);
/// Maximum number of socket events between two sleeps, and of datagrams per event.
const EVENTS_PER_WAIT: usize = 64;
const DATAGRAMS_PER_EVENT: usize = 64;
/// The token of the clients' common socket.
const FRONT: u64 = u64::MAX;

/// A datagram with its arrival time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    at: Instant,
    /// Sequence number that keeps datagrams with the same arrival time in order.
    number: u64,
    client: usize,
    is_up: bool,
    bytes: Vec<u8>,
}

struct Client {
    addr: SocketAddr,
    back: UdpSocket,
}

struct Proxy<'a> {
    front: &'a UdpSocket,
    upstream: SocketAddr,
    shared: &'a Shared,
    epoll: std::os::fd::OwnedFd,
    clients: Vec<Client>,
    by_addr: HashMap<SocketAddr, usize>,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    number: u64,
}

/// Runs until the owner is gone.
pub(super) fn run(front: &UdpSocket, upstream: SocketAddr, shared: &Shared) {
    if let Err(error) = Proxy::new(front, upstream, shared).and_then(Proxy::run) {
        panic!("the proxy: {error}");
    }
}

impl<'a> Proxy<'a> {
    fn new(
        front: &'a UdpSocket,
        upstream: SocketAddr,
        shared: &'a Shared,
    ) -> std::io::Result<Self> {
        front.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(FRONT);
        epoll::add(&epoll, front, data, epoll::EventFlags::IN)?;
        Ok(Self {
            front,
            upstream,
            shared,
            epoll,
            clients: Vec::new(),
            by_addr: HashMap::new(),
            under_way: BinaryHeap::new(),
            number: 0,
        })
    }

    fn run(mut self) -> std::io::Result<()> {
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        while !self.shared.ends() {
            if self.shared.rebinds.swap(false, Ordering::Relaxed) {
                self.rebind()?;
            }
            self.deliver(Instant::now());
            let next = self.under_way.peek().map_or(NAP, |Reverse(next)| {
                next.at.saturating_duration_since(Instant::now())
            });
            let mut ready = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
            let pause = next.min(NAP);
            let pause = Timespec {
                tv_sec: 0,
                tv_nsec: pause.subsec_nanos().into(),
            };
            let ready = match epoll::wait(&self.epoll, &mut ready[..], Some(&pause)) {
                Ok((ready, _)) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in ready {
                match { event.data }.u64() {
                    FRONT => self.hear_clients(&mut buffer)?,
                    client => self.hear_server(client as usize, &mut buffer),
                }
            }
        }
        Ok(())
    }

    fn hear_clients(&mut self, buffer: &mut [u8]) -> std::io::Result<()> {
        for _ in 0..DATAGRAMS_PER_EVENT {
            let Ok((length, from)) = self.front.recv_from(buffer) else {
                break;
            };
            if let Some(client) = self.client(from)? {
                self.send_off(client, true, &buffer[..length]);
            }
        }
        Ok(())
    }

    fn hear_server(&mut self, client: usize, buffer: &mut [u8]) {
        for _ in 0..DATAGRAMS_PER_EVENT {
            // A server that is not there yet refuses; datagrams that it sends later count.
            let Ok(length) = self.clients[client].back.recv(buffer) else {
                break;
            };
            self.send_off(client, false, &buffer[..length]);
        }
    }

    /// Returns the index of the client at `addr`; `None` if there are too many clients.
    fn client(&mut self, addr: SocketAddr) -> std::io::Result<Option<usize>> {
        if let Some(client) = self.by_addr.get(&addr) {
            return Ok(Some(*client));
        }
        let client = self.clients.len();
        if client == CLIENTS_MAX {
            return Ok(None);
        }
        let back = self.open(client)?;
        self.clients.push(Client { addr, back });
        self.by_addr.insert(addr, client);
        Ok(Some(client))
    }

    fn open(&self, client: usize) -> std::io::Result<UdpSocket> {
        let back = UdpSocket::bind(any_port(self.upstream))?;
        back.connect(self.upstream)?;
        back.set_nonblocking(true)?;
        let data = epoll::EventData::new_u64(client as u64);
        epoll::add(&self.epoll, &back, data, epoll::EventFlags::IN)?;
        Ok(back)
    }

    /// Gives every client another port. Datagrams that the server sends to the old one are lost.
    fn rebind(&mut self) -> std::io::Result<()> {
        for client in 0..self.clients.len() {
            // The old socket is closed afterwards, so that its port is not chosen again.
            self.clients[client].back = self.open(client)?;
        }
        Ok(())
    }

    fn send_off(&mut self, client: usize, is_up: bool, bytes: &[u8]) {
        let mut link = if is_up {
            self.shared.up()
        } else {
            self.shared.down()
        };
        let arrival = link.pass(bytes.len(), Instant::now());
        drop(link);
        if let Some(at) = arrival
            && self.under_way.len() < UNDER_WAY_MAX
        {
            self.number += 1;
            self.under_way.push(Reverse(UnderWay {
                at,
                number: self.number,
                client,
                is_up,
                bytes: bytes.to_vec(),
            }));
        }
    }

    fn deliver(&mut self, now: Instant) {
        while let Some(Reverse(next)) = self.under_way.peek()
            && next.at <= now
        {
            let Some(Reverse(datagram)) = self.under_way.pop() else {
                return;
            };
            let client = &self.clients[datagram.client];
            // A full socket or a missing peer drops the datagram.
            if datagram.is_up {
                client.back.send(&datagram.bytes).ok();
            } else {
                self.front.send_to(&datagram.bytes, client.addr).ok();
            }
        }
    }
}
