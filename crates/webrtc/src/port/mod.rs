//! Network port of all sessions: sockets and worker threads.
//!
//! ```text
//! expect(session, ticket) ─► Directory ─┐ claimed by the first worker that receives its check
//!                                       ▼
//! UDP, TCP ─► worker ─► Mux ─► connected(ticket) · rtp · rtcp ─► Role ─► Outbox ─► UDP, TCP
//!               │ ▲                                               ▲
//!               ▼ │ datagrams and connections of other workers' sessions    turn: bells and deadlines
//! ```
//!
//! A [`Port`] has one UDP port and the TCP port of the same number. Each of its workers is a thread with its own socket on
//! both, and serves the sessions it adopted as [`crate::mux`] describes. The port does not know the purpose of a session: it
//! keeps the session's ticket, and the worker's [`Role`] interprets it. A role belongs to one thread, so it needs no lock;
//! everything reaches it through its methods, and it sends only through [`Outbox`].
//!
//! Invariants: a worker blocks only in its sleep; a session whose peer never arrives is given up, and its ticket dropped,
//! within seven seconds; everything that waits for a worker, a connection or a peer has a bound; a worker that panics ends the
//! process, because its share of the peers would receive no response.
//!
//! Callers: `server`, which starts the port and agrees on sessions.

mod bell;
mod candidates;
mod connections;
mod counters;
mod opening;
mod rest;
mod role;
mod shared;
#[cfg(test)]
mod tests;
mod wire;
mod worker;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use base::Lock;
use net::udp;

use crate::dtls::ServerIdentity;
use crate::ice::Credentials;
use crate::mux::{Claim, NewSession};
use crate::sdp::{Candidate, Fingerprint};

pub use crate::mux::DirectoryFull as Full;
pub use counters::Counters;
use rest::Rest;
pub use role::Role;
use shared::{Command, Expected, Shared};
use wire::Wire;
pub use wire::{Outbox, Sent};
use worker::Worker;

/// Largest number of workers of one port: more than the cores of any machine that one network card keeps busy.
const WORKERS_MAX: usize = 64;

/// Number of port numbers tried if any will do and the one that UDP got is taken for TCP.
const ATTEMPTS_MAX: usize = 16;

/// Configuration of a port.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// Address to listen on, over UDP and TCP. Port 0 stands for any.
    pub listen: SocketAddr,
    /// Addresses announced to peers, best first. If empty, those found on this host.
    pub public_addresses: Vec<IpAddr>,
    /// Number of threads; 0 stands for the number of cores.
    pub workers: usize,
    /// Whether peers may connect over TCP where UDP does not get through.
    pub tcp: bool,
    /// Share of its thread that a worker may spend on datagrams as they arrive; with more to do it takes them in batches, up to
    /// 2 ms later.
    pub target_utilisation: f64,
}

impl PortConfig {
    /// Creates the defaults: as many workers as cores, addresses as found, UDP and TCP, and each datagram as it arrives.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            public_addresses: Vec::new(),
            workers: 0,
            tcp: true,
            target_utilisation: 1.0,
        }
    }
}

/// Port that is open until it is stopped, or the last clone is dropped. `T` is the ticket of a session.
pub struct Port<T>(Arc<Inner<T>>);

struct Inner<T> {
    shared: Arc<Shared<T>>,
    address: SocketAddr,
    candidates: Vec<Candidate>,
    fingerprint: Fingerprint,
    threads: Lock<Vec<JoinHandle<()>>>,
}

impl<T: Send + 'static> Port<T> {
    /// Opens the port and starts its workers. `role` creates the role of each worker from the worker's number and a waker. The
    /// waker makes the worker take a turn and may be called from any thread.
    pub fn start<R: Role<Ticket = T>>(
        config: &PortConfig,
        identity: ServerIdentity,
        mut role: impl FnMut(usize, Waker) -> R,
    ) -> io::Result<Self> {
        let count = match config.workers {
            0 => thread::available_parallelism().map_or(1, NonZeroUsize::get),
            workers => workers,
        };
        let count = count.min(WORKERS_MAX);
        let sockets = open(config, count)?;
        let address = sockets
            .first()
            .map_or(config.listen, |(udp, _)| udp.address());
        report_buffers(&sockets);
        let mut wires = Vec::new();
        let mut posts = Vec::new();
        let mut inboxes = Vec::new();
        for (udp, listener) in sockets {
            let wire = Wire::new(udp, listener)?;
            let (post, inbox) = shared::post(wire.poller.waker());
            wires.push(wire);
            posts.push(post);
            inboxes.push(inbox);
        }
        let shared = Arc::new(Shared::new(posts));
        let port = Self(Arc::new(Inner {
            shared: Arc::clone(&shared),
            address,
            candidates: candidates::of(address, config),
            fingerprint: *identity.fingerprint(),
            threads: Lock::default(),
        }));
        for (number, (wire, inbox)) in wires.into_iter().zip(inboxes).enumerate() {
            let role = role(number, Arc::clone(&inbox.bell).into());
            let rest = Rest::new(config.target_utilisation, Instant::now());
            let shared = Arc::clone(&shared);
            let worker = Worker::new(number, shared, &identity, inbox, wire, role, rest);
            let name = format!("webrtc-{number}");
            // Workers that already run end when the port is dropped.
            let thread = thread::Builder::new()
                .name(name)
                .spawn(move || worker.run())?;
            port.0.threads.lock().push(thread);
        }
        tracing::info!(%address, workers = count, candidates = ?port.candidates(), "the WebRTC port is open");
        Ok(port)
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Returns the addresses announced to peers, best first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.0.candidates
    }

    /// Returns the certificate's fingerprint.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.0.fingerprint
    }

    /// Expects the peer of a session, which is named by `session.local.ufrag()`. The ticket is given to a role when the peer
    /// has connected, and dropped if it does not connect in time. A port that is closed is full, too.
    pub fn expect(&self, session: NewSession, ticket: T) -> Result<(), Full> {
        let shared = &self.0.shared;
        if shared.is_stopping() {
            return Err(Full);
        }
        let ufrag = Box::<str>::from(session.local.ufrag());
        let expected = Expected { session, ticket };
        shared.directory.offer(&ufrag, expected, Instant::now())
    }

    /// Gives a session a new name and password of ours and a new name of its peer's (ICE restart). Its keys stay. Returns false
    /// if there is no such session, or its worker is overloaded.
    pub fn restart(&self, ufrag: &str, local: Credentials, remote_ufrag: &str) -> bool {
        let Inner { shared, .. } = &*self.0;
        let worker = match shared.directory.withdraw(ufrag) {
            Claim::Unknown => return false,
            Claim::Adopted(Expected { session, ticket }) => {
                let session = NewSession {
                    local,
                    remote_ufrag: remote_ufrag.into(),
                    ..session
                };
                return self.expect(session, ticket).is_ok();
            }
            Claim::Owned(worker) => worker,
        };
        let new = Box::<str>::from(local.ufrag());
        if shared.directory.own(&new, worker).is_err() {
            return false;
        }
        let reported = shared.command(
            worker,
            Command::Restart {
                ufrag: ufrag.into(),
                local,
                remote_ufrag: remote_ufrag.into(),
            },
        );
        if !reported {
            shared.directory.remove(&new);
        }
        reported
    }

    /// Ends a session, expected or connected; its peer is notified. Returns false if there is no such session, or its worker is
    /// overloaded.
    pub fn close(&self, ufrag: &str) -> bool {
        let Inner { shared, .. } = &*self.0;
        match shared.directory.withdraw(ufrag) {
            Claim::Unknown => false,
            Claim::Adopted(expected) => {
                drop(expected);
                true
            }
            Claim::Owned(worker) => {
                let ufrag = ufrag.into();
                shared.command(worker, Command::Close { ufrag })
            }
        }
    }

    /// Returns the counters of all workers.
    pub fn counters(&self) -> Counters {
        self.0.shared.counters()
    }

    /// Returns the number of sessions whose peers have sent a check, connected or not.
    pub fn sessions(&self) -> usize {
        self.0.shared.sessions()
    }

    /// Returns the number of turns of each worker, which grows at least once a second.
    pub fn turns(&self) -> Vec<u64> {
        self.0.shared.turns()
    }

    /// Ends all sessions and closes the port. Returns when the peers were notified and the threads have ended, which takes no
    /// longer than a turn of their roles.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl<T> Clone for Port<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("address", &self.0.address)
            .finish_non_exhaustive()
    }
}

impl<T> Inner<T> {
    fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.ring_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A role may have dropped the last clone of its own port.
            if thread.thread().id() != thread::current().id() {
                // A worker that panics takes the process with it.
                thread.join().ok();
            }
        }
    }
}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sockets of one worker.
type Sockets = (udp::Socket, Option<TcpListener>);

/// Opens the sockets of all workers on one port number.
fn open(config: &PortConfig, count: usize) -> io::Result<Vec<Sockets>> {
    if config.listen.port() != 0 {
        // Another server of the same user would share the port with us, and the peers.
        drop(udp::Socket::bind(config.listen)?);
        return open_at(config.listen, config.tcp, count);
    }
    let mut attempt = 1;
    loop {
        // The number was free a moment ago, which is enough: numbers are not given out again soon.
        let address = udp::Socket::bind(config.listen)?.address();
        match open_at(address, config.tcp, count) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempt < ATTEMPTS_MAX => {
                attempt += 1;
            }
            opened => return opened,
        }
    }
}

fn open_at(address: SocketAddr, tcp: bool, count: usize) -> io::Result<Vec<Sockets>> {
    let mut sockets = Vec::new();
    for _ in 0..count {
        let udp = udp::Socket::bind_shared(address)?;
        let listener = tcp.then(|| net::tcp::listen_shared(address));
        sockets.push((udp, listener.transpose()?));
    }
    Ok(sockets)
}

/// Warns once if the kernel's buffer is smaller than a burst to a large audience.
fn report_buffers(sockets: &[Sockets]) {
    /// Bytes of a keyframe of 100 KB to a few dozen viewers at once.
    const ENOUGH_BYTES: usize = 4 * 1024 * 1024;
    if let Some((udp, _)) = sockets.first()
        && let Ok((receive, send)) = udp.buffer_sizes()
        && receive.min(send) < ENOUGH_BYTES
    {
        tracing::warn!(
            receive,
            send,
            "the kernel grants small UDP buffers; net.core.rmem_max and net.core.wmem_max of 8388608 avoid losses"
        );
    }
}
