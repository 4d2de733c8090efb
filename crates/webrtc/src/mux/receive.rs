//! Processing of received datagrams.

use std::time::Instant;

use net::panics::{self, Part};

use super::session::{Secure, Session};
use super::{CloseReason, Event, Handle, Mux, Transmit};
use crate::dtls::{self, Progress};
use crate::ice::{CheckError, Path, looks_like_check, username};
use crate::rtcp;
use crate::sdp::Setup;
use crate::srtp::Keys;

/// Result of a datagram.
#[derive(Debug, Eq, PartialEq)]
pub enum Received<'a> {
    /// Nothing for the caller; there may be events and datagrams to send.
    Nothing,
    /// RTP packet from a session's peer.
    Rtp {
        /// Session of the packet.
        session: Handle,
        /// 48-bit index of the packet: its sequence number extended over wraps.
        index: u64,
        /// Plain packet, in the caller's buffer.
        packet: &'a [u8],
    },
    /// RTCP packet from a session's peer.
    Rtcp {
        /// Session of the packet.
        session: Handle,
        /// Plain compound packet, in the caller's buffer.
        packet: &'a [u8],
    },
    /// Check for a session that is not here: look it up in the [`Directory`](super::Directory).
    Unknown {
        /// Our name in the check.
        ufrag: &'a str,
    },
    /// Datagram for a session of another worker.
    Elsewhere {
        /// Number of the worker.
        worker: u16,
    },
}

/// Kind of a datagram on one port, by its first byte (RFC 7983 §7).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Stun,
    Dtls,
    Srtp,
    Other,
}

impl Kind {
    pub(crate) fn of(datagram: &[u8]) -> Self {
        match datagram.first() {
            Some(0..=3) => Self::Stun,
            Some(20..=63) => Self::Dtls,
            Some(128..=191) => Self::Srtp,
            _ => Self::Other,
        }
    }
}

impl Mux {
    /// Processes a datagram that arrived on `path`. The datagram is decrypted in place.
    pub fn receive<'a>(
        &mut self,
        path: Path,
        datagram: &'a mut [u8],
        now: Instant,
    ) -> Received<'a> {
        let kind = Kind::of(datagram);
        if kind == Kind::Stun {
            return self.stun(path, datagram, now);
        }
        let Some(&slot) = self.by_path.get(&path) else {
            if let Some(worker) = self.routes.get(path) {
                return Received::Elsewhere { worker };
            }
            match kind {
                Kind::Dtls => self.counters.dtls_refused += 1,
                _ => self.counters.strays += 1,
            }
            return Received::Nothing;
        };
        match kind {
            Kind::Dtls => {
                self.dtls(slot, path, datagram, now);
                Received::Nothing
            }
            Kind::Srtp => self.srtp(slot, path, datagram, now),
            Kind::Stun | Kind::Other => {
                self.counters.strays += 1;
                Received::Nothing
            }
        }
    }

    fn stun<'a>(&mut self, path: Path, datagram: &'a [u8], now: Instant) -> Received<'a> {
        if !looks_like_check(datagram) {
            // We send no requests, so a response or an indication means nothing.
            self.counters.strays += 1;
            return Received::Nothing;
        }
        let Some((ours, _)) = username(datagram) else {
            self.counters.checks_refused += 1;
            return Received::Nothing;
        };
        match self.by_ufrag.get(ours) {
            Some(&slot) => {
                if self.check(slot, path, datagram, now).is_err() {
                    self.counters.checks_refused += 1;
                }
                Received::Nothing
            }
            None => match self.routes.get(path) {
                Some(worker) => Received::Elsewhere { worker },
                None => Received::Unknown { ufrag: ours },
            },
        }
    }

    fn check(
        &mut self,
        slot: u32,
        path: Path,
        datagram: &[u8],
        now: Instant,
    ) -> Result<(), CheckError> {
        let Some(session) = self.sessions.at_mut(slot as usize) else {
            return Err(CheckError::Forged);
        };
        // A panic can only occur before any state has changed: while input that could be forged is parsed.
        let (agent, provider) = (&mut session.agent, &self.provider);
        let answered = panics::contain(|| agent.handle(path, datagram, now, provider.crypto()));
        let answered = answered.unwrap_or_else(|panic| {
            let what = format_args!("a connectivity check of {}", path.remote);
            panic.report(Part::Webrtc, &what);
            Err(CheckError::Malformed)
        })?;
        self.counters.checks += 1;
        self.transmits.push_back(Transmit {
            path,
            datagram: answered.response.into(),
        });
        if answered.proved {
            // A NAT gave another session's address to this peer: it belongs to the peer that proved
            // it last.
            if let Some(other) = self.by_path.insert(path, slot)
                && other != slot
                && let Some(session) = self.sessions.at_mut(other as usize)
            {
                session.forget(path);
            }
            self.routes.remove(path);
        }
        if let Some(forgotten) = answered.forgotten {
            self.by_path.remove(&forgotten);
        }
        if let Some(retired) = answered.retired {
            self.retire(retired.ufrag());
        }
        if answered.proved || answered.moved {
            self.open(slot, path, now);
        }
        let session = self.sessions.at(slot as usize);
        if answered.moved
            && session.is_some_and(|session| session.secure.is_some())
            && let Some(handle) = self.handle(slot)
        {
            self.events.push_back((handle, Event::Moved { path }));
        }
        Ok(())
    }

    /// Opens the handshake of a session on a proved path, if that is our task. A path that the peer nominates later replaces
    /// it.
    fn open(&mut self, slot: u32, path: Path, now: Instant) {
        let session = self.sessions.at_mut(slot as usize);
        let opens = |session: &&mut Box<Session>| {
            session.association.setup() == Setup::Active && session.secure.is_none()
        };
        let Some(session) = session.filter(opens) else {
            return;
        };
        let chosen = session.agent.selected() == Some(path);
        if chosen || session.dtls_path.is_none() {
            session.dtls_path = Some(path);
        }
        let from = path.remote.ip();
        let (acceptor, association) = (&mut self.acceptor, &mut session.association);
        let opened = panics::contain(|| acceptor.open(association, from, now));
        self.flush_dtls();
        self.evict(now);
        match opened {
            Ok(Ok(())) => self.schedule(slot),
            Ok(Err(error)) => self.fail(slot, error, now),
            Err(panic) => self.panicked(slot, Some(path), &panic, now),
        }
    }

    /// Ends the sessions whose handshakes were evicted in favour of others.
    fn evict(&mut self, now: Instant) {
        while let Some(key) = self.acceptor.poll_evicted() {
            let evicted = Handle::of_key(key);
            if self.session(evicted).is_some() {
                self.end(evicted.slot, CloseReason::Dtls(dtls::Error::Busy), now);
            }
        }
    }

    fn dtls(&mut self, slot: u32, path: Path, datagram: &[u8], now: Instant) {
        let Some(session) = self.sessions.at_mut(slot as usize) else {
            return;
        };
        session.dtls_path = Some(path);
        let from = path.remote.ip();
        let (acceptor, association) = (&mut self.acceptor, &mut session.association);
        let progress = panics::contain(|| acceptor.receive(association, from, datagram, now));
        self.flush_dtls();
        self.evict(now);
        match progress {
            Ok(Ok(Progress::Pending)) => {}
            Ok(Ok(Progress::Connected(keys))) => self.connected(slot, path, keys, now),
            Ok(Ok(Progress::Closed)) => self.end(slot, CloseReason::PeerClosed, now),
            Ok(Err(error)) if error.is_fatal() => self.fail(slot, error, now),
            Ok(Err(_)) => self.counters.dtls_refused += 1,
            Err(panic) => self.panicked(slot, Some(path), &panic, now),
        }
        // A session that has ended has no deadline.
        self.schedule(slot);
    }

    fn connected(&mut self, slot: u32, path: Path, keys: Keys, now: Instant) {
        let Ok(secure) = Secure::new(&keys) else {
            self.fail(slot, dtls::Error::Crypto, now);
            return;
        };
        let handle = self.handle(slot);
        let (Some(handle), Some(session)) = (handle, self.sessions.at_mut(slot as usize)) else {
            return;
        };
        session.secure = Some(Box::new(secure));
        self.counters.connected += 1;
        let event = Event::Connected {
            keys: Box::new(keys),
            path: session.path().unwrap_or(path),
        };
        self.events.push_back((handle, event));
    }

    fn fail(&mut self, slot: u32, error: dtls::Error, now: Instant) {
        let session = self.sessions.at(slot as usize);
        let reason = if session.is_some_and(|session| session.secure.is_some()) {
            CloseReason::PeerClosed
        } else {
            self.counters.handshakes_failed += 1;
            CloseReason::Dtls(error)
        };
        self.end(slot, reason, now);
    }

    fn srtp<'a>(
        &mut self,
        slot: u32,
        path: Path,
        datagram: &'a mut [u8],
        now: Instant,
    ) -> Received<'a> {
        let handle = self.handle(slot);
        let session = self.sessions.at_mut(slot as usize);
        let parts =
            session.and_then(|session| Some((&mut session.agent, session.secure.as_mut()?)));
        let (Some(handle), Some((agent, secure))) = (handle, parts) else {
            self.counters.srtp_refused += 1;
            return Received::Nothing;
        };
        let is_rtcp = rtcp::is_rtcp(datagram);
        let opened = panics::contain(|| match is_rtcp {
            true => secure.rtcp_in.open(datagram).map(|len| (0, len)),
            false => {
                let opened = secure.rtp_in.open(datagram);
                opened.map(|opened| (opened.index, opened.len))
            }
        });
        if let Ok(Ok(_)) = opened {
            agent.heard(path, now);
        }
        match opened {
            Ok(Ok((_, len))) if is_rtcp => Received::Rtcp {
                session: handle,
                packet: &datagram[..len],
            },
            Ok(Ok((index, len))) => Received::Rtp {
                session: handle,
                index,
                packet: &datagram[..len],
            },
            Ok(Err(_)) => {
                self.counters.srtp_refused += 1;
                Received::Nothing
            }
            Err(panic) => {
                self.panicked(slot, Some(path), &panic, now);
                Received::Nothing
            }
        }
    }
}
