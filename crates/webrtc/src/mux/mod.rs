//! One worker's sessions behind one UDP socket.
//!
//! ```text
//! (path, datagram, now) ─► first byte ─┬─ STUN  ► the session named in it   ► answer, prove the path
//!                                      ├─ DTLS  ► the session of the path   ► handshake, keys
//!                                      └─ SRTP  ► the session of the path   ► plain RTP or RTCP
//! ```
//!
//! A [`Mux`] owns its sessions and nothing else: datagrams and the clock go in, events and datagrams come out. A session is
//! named by a [`Handle`], which is never mistaken for a later one. A path belongs to a session once ICE has proved it; from any
//! other path only STUN is read. If the handshake is ours to open, the first proof of a path opens it there.
//!
//! # One socket per worker
//! With `SO_REUSEPORT` the kernel spreads peers over the workers' sockets by address, so it is not known in advance which
//! socket a peer will reach. A session therefore waits in the [`Directory`], which all workers share, until the first worker
//! that receives its check adopts it. If a later address of the same peer hashes to another worker, that worker finds the owner
//! in the directory, remembers the path, and forwards its datagrams:
//!
//! ```text
//! match mux.receive(path, datagram, now) {
//!     Received::Unknown { ufrag } => match directory.claim(ufrag, me) {
//!         Claim::Adopted(session) => { mux.adopt(session, now); mux.receive(path, datagram, now) }
//!         Claim::Owned(worker) => { mux.route(path, worker); forward(worker, path, datagram) }
//!         Claim::Unknown => {}
//!     },
//!     Received::Elsewhere { worker } => forward(worker, path, datagram),
//!     …
//! }
//! ```
//!
//! After each call the caller sends what [`Mux::poll_transmit`] yields, handles what [`Mux::poll_event`] yields, removes what
//! [`Mux::poll_retired`] yields from the directory, and sleeps no longer than until [`Mux::timeout`].
//!
//! A session whose peer makes the DTLS or SRTP libraries panic ends with [`CloseReason::Panicked`]; a check that does so is
//! dropped, because it could be forged.
//!
//! Bounds: sessions per worker, paths per session, handshakes under way, routes to other workers.

mod counters;
mod directory;
mod receive;
mod routes;
mod session;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use net::panics::{self, Panic, Part};
use net::{Slab, Slot};
use rtc_crypto::RTCCryptoProvider;
use thiserror::Error;

use crate::dtls::{self, Acceptor, ServerIdentity};
use crate::ice::{Credentials, Path};
use crate::sdp::{Fingerprint, Setup};
use crate::srtp::{self, Keys};

pub use counters::Counters;
pub use directory::{Claim, Directory, DirectoryFull};
pub(crate) use receive::Kind;
pub use receive::Received;
use routes::Routes;
use session::Session;
use timers::Timers;

/// Largest number of sessions of one worker: no network card keeps up with more, and tables need a bound.
const SESSIONS_MAX: usize = 65_536;

/// Longest time from a session's adoption to its keys. Browsers give up at about the same time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Name of a session of one [`Mux`]. The slot is reused, the pair is not.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Handle {
    /// Slot of the session in its worker's table; a small number, suitable as an index for the caller's own tables.
    pub slot: u32,
    /// Number of sessions that had the slot before.
    pub generation: u32,
}

impl Handle {
    fn of_slot(slot: Slot) -> Self {
        Self {
            slot: slot.index,
            generation: slot.reuse,
        }
    }

    fn to_slot(self) -> Slot {
        Slot {
            index: self.slot,
            reuse: self.generation,
        }
    }

    fn key(self) -> dtls::Key {
        dtls::Key(u64::from(self.generation) << 32 | u64::from(self.slot))
    }

    fn of_key(key: dtls::Key) -> Self {
        Self {
            slot: key.0 as u32,
            generation: (key.0 >> 32) as u32,
        }
    }
}

/// Session parameters as offer and answer agreed on them.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Our name and password, as in the answer.
    pub local: Credentials,
    /// Name of the peer, as in its offer.
    pub remote_ufrag: Box<str>,
    /// Certificate of the peer, as in its offer.
    pub fingerprint: Fingerprint,
    /// Side that opens the DTLS connection, as in the answer.
    pub setup: Setup,
}

/// Event of a session.
#[derive(Debug)]
pub enum Event {
    /// The peer's certificate matches its offer, and the keys are available. Media may be sent to `path`.
    Connected {
        /// Keys that seal outgoing media.
        keys: Box<Keys>,
        /// Destination of outgoing media.
        path: Path,
    },
    /// Everything must be sent to another path from now on.
    Moved {
        /// Path that the peer chose.
        path: Path,
    },
    /// The session is over and its handle void.
    Closed {
        /// Reason of the end.
        reason: CloseReason,
    },
}

/// Reason why a session ended.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum CloseReason {
    /// No check of its path arrived.
    #[error("no connectivity check arrived; UDP or its port may be blocked")]
    NeverCame,
    /// The peer proved its path but did not complete the handshake in time.
    #[error("the peer was reached, but made no keys in time")]
    NotConnected,
    /// The peer fell silent.
    #[error("the peer fell silent")]
    Silent,
    /// The handshake failed.
    #[error("{0}")]
    Dtls(dtls::Error),
    /// The peer closed the session.
    #[error("the peer closed the session")]
    PeerClosed,
    /// Our code panicked over a packet from the peer.
    #[error("a defect of the server ended the session")]
    Panicked,
    /// Another party ended the session: the peer by its signalling, or an operator.
    #[error("the end of the session was asked for")]
    Requested,
}

impl CloseReason {
    /// Returns a short name for metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NeverCame => "never-came",
            Self::NotConnected => "not-connected",
            Self::Silent => "silent",
            Self::Dtls(dtls::Error::WrongFingerprint) => "fingerprint",
            Self::Dtls(_) => "dtls",
            Self::PeerClosed => "peer-closed",
            Self::Panicked => "panic",
            Self::Requested => "requested",
        }
    }
}

/// Datagram to be sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transmit {
    /// Destination.
    pub path: Path,
    /// Content.
    pub datagram: Bytes,
}

/// Error of a worker whose sessions are at their limit.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("the worker has {SESSIONS_MAX} sessions")]
pub struct Full;

/// Reason why an RTCP packet was not sent.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum RtcpError {
    /// There is no such session, or it has no keys yet.
    #[error("the session is not connected")]
    NotConnected,
    /// The packet could not be sealed.
    #[error(transparent)]
    Srtp(#[from] srtp::Error),
}

/// All sessions of one worker; pass every datagram to [`receive`](Self::receive), then call the `poll_*` methods.
pub struct Mux {
    provider: Arc<dyn RTCCryptoProvider>,
    acceptor: Acceptor,
    sessions: Slab<Box<Session>>,
    by_path: HashMap<Path, u32>,
    by_ufrag: HashMap<Box<str>, u32>,
    routes: Routes,
    timers: Timers,
    events: VecDeque<(Handle, Event)>,
    retired: VecDeque<Box<str>>,
    transmits: VecDeque<Transmit>,
    counters: Counters,
}

base::debug!(Mux as it { sessions: it.len(), counters: it.counters });

impl Mux {
    /// Creates a worker without sessions.
    pub fn new(identity: &ServerIdentity) -> Self {
        Self {
            provider: identity.provider.clone(),
            acceptor: Acceptor::new(identity),
            sessions: Slab::new(),
            by_path: HashMap::new(),
            by_ufrag: HashMap::new(),
            routes: Routes::default(),
            timers: Timers::default(),
            events: VecDeque::new(),
            retired: VecDeque::new(),
            transmits: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Returns the number of sessions, connected or not.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there is no session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the counts of received and refused datagrams so far.
    pub fn counters(&self) -> Counters {
        Counters {
            half_open: self.acceptor.half_open() as u64,
            ..self.counters
        }
    }

    /// Adopts a session.
    pub fn adopt(&mut self, new: NewSession, now: Instant) -> Result<Handle, Full> {
        if self.sessions.len() >= SESSIONS_MAX {
            return Err(Full);
        }
        let handle = Handle::of_slot(self.sessions.vacant());
        self.by_ufrag.insert(new.local.ufrag().into(), handle.slot);
        self.sessions
            .insert(Box::new(Session::new(handle, new, now)));
        self.schedule(handle.slot);
        Ok(handle)
    }

    /// Returns the session that has this name of ours.
    pub fn find(&self, ufrag: &str) -> Option<Handle> {
        self.handle(*self.by_ufrag.get(ufrag)?)
    }

    /// Returns every session, connected or not.
    pub fn handles(&self) -> impl Iterator<Item = Handle> {
        self.sessions.iter().map(|(slot, _)| Handle::of_slot(slot))
    }

    /// Whether a session's peer has proved this path.
    pub fn knows(&self, path: Path) -> bool {
        self.by_path.contains_key(&path)
    }

    /// Returns the destination of a session's media, once the peer has chosen.
    pub fn path(&self, handle: Handle) -> Option<Path> {
        self.session(handle)?.path()
    }

    /// Gives a session new names (ICE restart). Its keys stay. Returns false if there is no such session.
    pub fn restart(&mut self, handle: Handle, local: Credentials, remote_ufrag: &str) -> bool {
        let Some(session) = self.session_mut(handle) else {
            return false;
        };
        let ufrag = Box::from(local.ufrag());
        let retired = session.agent.restart(local, remote_ufrag);
        if let Some(retired) = retired {
            self.retire(retired.ufrag());
        }
        self.by_ufrag.insert(ufrag, handle.slot);
        true
    }

    /// Seals a plain compound packet and queues a copy, so that the caller's buffer is free again.
    pub fn send_rtcp(&mut self, handle: Handle, compound: &[u8]) -> Result<(), RtcpError> {
        let session = self.session_mut(handle).ok_or(RtcpError::NotConnected)?;
        let path = session.path().ok_or(RtcpError::NotConnected)?;
        let secure = session.secure.as_mut().ok_or(RtcpError::NotConnected)?;
        let mut sealed = vec![0; compound.len() + srtp::RTCP_OVERHEAD_MAX];
        let len = secure.rtcp_out.seal(compound, &mut sealed)?;
        sealed.truncate(len);
        self.transmits.push_back(Transmit {
            path,
            datagram: sealed.into(),
        });
        Ok(())
    }

    /// Ends a session: the peer is notified, and no event follows. Returns false if there is no such session.
    pub fn close(&mut self, handle: Handle, now: Instant) -> bool {
        if self.session(handle).is_none() {
            return false;
        }
        self.remove(handle.slot, now);
        true
    }

    /// Forgets a path that can no longer be used, such as a TCP connection that was closed.
    pub fn forget_path(&mut self, path: Path) {
        if let Some(slot) = self.by_path.remove(&path)
            && let Some(session) = self.sessions.at_mut(slot as usize)
        {
            session.forget(path);
        }
        self.routes.remove(path);
    }

    /// Records that a path's peer belongs to another worker.
    pub fn route(&mut self, path: Path, worker: u16) {
        self.routes.insert(path, worker);
    }

    /// Returns the next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<(Handle, Event)> {
        self.events.pop_front()
    }

    /// Returns the next name of ours that is no longer in use: its session has ended or was given another.
    pub fn poll_retired(&mut self) -> Option<Box<str>> {
        self.retired.pop_front()
    }

    /// Returns the time at which [`Mux::handle_timeout`] is next due.
    pub fn timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Retransmits lost handshake messages and ends sessions whose time is over.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(slot) = self.timers.pop(now) {
            let Some(session) = self.sessions.at_mut(slot as usize) else {
                continue;
            };
            if let Some(reason) = session.expired(now) {
                self.end(slot, reason, now);
                continue;
            }
            let path = session.path();
            let repeated =
                panics::contain(|| self.acceptor.handle_timeout(&mut session.association, now));
            self.flush_dtls();
            match repeated {
                Ok(Ok(())) => self.schedule(slot),
                Ok(Err(error)) => self.end(slot, CloseReason::Dtls(error), now),
                Err(panic) => self.panicked(slot, path, &panic, now),
            }
        }
    }

    fn session(&self, handle: Handle) -> Option<&Session> {
        self.sessions.get(handle.to_slot()).map(AsRef::as_ref)
    }

    fn session_mut(&mut self, handle: Handle) -> Option<&mut Session> {
        self.sessions.get_mut(handle.to_slot()).map(AsMut::as_mut)
    }

    /// Returns the handle of the session in a slot, if there is one.
    fn handle(&self, slot: u32) -> Option<Handle> {
        self.sessions.slot_at(slot as usize).map(Handle::of_slot)
    }

    /// Ensures that the session is woken at its next deadline.
    fn schedule(&mut self, slot: u32) {
        if let Some(session) = self.sessions.at(slot as usize) {
            let due = session.due();
            let due = match self.acceptor.timeout(&session.association) {
                Some(repeat) => due.min(repeat),
                None => due,
            };
            self.timers.set(slot, due);
        }
    }

    /// Moves the datagrams that the handshakes want to send to the queue.
    fn flush_dtls(&mut self) {
        while let Some((key, datagram)) = self.acceptor.poll_transmit() {
            let path = self
                .session(Handle::of_key(key))
                .and_then(|session| session.dtls_path.or_else(|| session.path()));
            if let Some(path) = path {
                self.transmits.push_back(Transmit {
                    path,
                    datagram: datagram.freeze(),
                });
            }
        }
    }

    /// Ends a session whose peer has caused a panic.
    fn panicked(&mut self, slot: u32, path: Option<Path>, panic: &Panic, now: Instant) {
        report(panic, path);
        self.end(slot, CloseReason::Panicked, now);
    }

    fn end(&mut self, slot: u32, reason: CloseReason, now: Instant) {
        let Some(handle) = self.handle(slot) else {
            return;
        };
        self.remove(slot, now);
        self.events.push_back((handle, Event::Closed { reason }));
    }

    fn remove(&mut self, slot: u32, now: Instant) {
        let Some(session) = self.sessions.at_mut(slot as usize) else {
            return;
        };
        self.acceptor.close(&mut session.association, now);
        self.flush_dtls();
        let Some(session) = self.sessions.take(slot as usize) else {
            return;
        };
        for path in session.agent.paths() {
            if self.by_path.get(&path) == Some(&slot) {
                self.by_path.remove(&path);
            }
        }
        for ufrag in session.agent.ufrags() {
            self.retire(ufrag);
        }
        self.timers.clear(slot);
    }

    fn retire(&mut self, ufrag: &str) {
        if let Some((ufrag, _)) = self.by_ufrag.remove_entry(ufrag) {
            self.retired.push_back(ufrag);
        }
    }
}

/// Reports a panic that a session's peer has caused.
pub(crate) fn report(panic: &Panic, path: Option<Path>) {
    match path {
        Some(path) => panic.report(
            Part::Webrtc,
            &format_args!("the WebRTC session of {}", path.remote),
        ),
        None => panic.report(Part::Webrtc, &"a WebRTC session"),
    }
}
