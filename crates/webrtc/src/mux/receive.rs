//! What becomes of a datagram.

use std::time::Instant;

use super::session::Secure;
use super::{Event, Handle, Mux, Reason, Transmit};
use crate::dtls::{self, Progress};
use crate::ice::{CheckError, Path, looks_like_check, username};
use crate::rtcp;
use crate::srtp::Keys;

/// What a datagram was.
#[derive(Debug, Eq, PartialEq)]
pub enum Received<'a> {
    /// Nothing for the caller; there may be events and datagrams to send.
    Nothing,
    /// An RTP packet of a session's peer.
    Rtp {
        /// The session.
        session: Handle,
        /// The packet's 48-bit index: its sequence number extended over wraps.
        index: u64,
        /// The plain packet, in the caller's buffer.
        packet: &'a [u8],
    },
    /// An RTCP packet of a session's peer.
    Rtcp {
        /// The session.
        session: Handle,
        /// The plain compound packet, in the caller's buffer.
        packet: &'a [u8],
    },
    /// A check for a session that is not here: ask the [`Directory`](super::Directory).
    Unknown {
        /// Our name in the check.
        ufrag: &'a str,
    },
    /// A datagram for a session of another worker.
    Elsewhere {
        /// The worker's number.
        worker: u16,
    },
}

/// The kinds of datagrams on one port, by their first byte (RFC 7983 §7).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Stun,
    Dtls,
    Srtp,
    Other,
}

impl Kind {
    fn of(datagram: &[u8]) -> Self {
        match datagram.first() {
            Some(0..=3) => Self::Stun,
            Some(20..=63) => Self::Dtls,
            Some(128..=191) => Self::Srtp,
            _ => Self::Other,
        }
    }
}

impl Mux {
    /// Takes a datagram that came by `path`. It is decrypted where it lies.
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
            Kind::Srtp => self.srtp(slot, datagram),
            Kind::Stun | Kind::Other => {
                self.counters.strays += 1;
                Received::Nothing
            }
        }
    }

    fn stun<'a>(&mut self, path: Path, datagram: &'a [u8], now: Instant) -> Received<'a> {
        if !looks_like_check(datagram) {
            // We ask nothing, so a response or an indication means nothing.
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
        let place = &mut self.sessions[slot as usize];
        let Some(session) = place.session.as_deref_mut() else {
            return Err(CheckError::Forged);
        };
        let crypto = self.provider.crypto();
        let answered = session.agent.handle(path, datagram, now, crypto)?;
        self.counters.checks += 1;
        self.transmits.push_back(Transmit {
            path,
            datagram: answered.response.into(),
        });
        if answered.proved {
            // An address that another session had was given to somebody else by a translator: it belongs to
            // whoever proved it last.
            if let Some(other) = self.by_path.insert(path, slot)
                && other != slot
            {
                self.lose(other, path);
            }
            self.routes.remove(path);
        }
        if let Some(forgotten) = answered.forgotten {
            self.by_path.remove(&forgotten);
        }
        if let Some(retired) = answered.retired {
            self.retire(retired.ufrag());
        }
        let place = &self.sessions[slot as usize];
        let connected = place.session.as_ref().is_some_and(|s| s.secure.is_some());
        if answered.moved && connected {
            let handle = Handle {
                slot,
                generation: place.generation,
            };
            self.events.push_back((handle, Event::Moved { path }));
        }
        Ok(())
    }

    fn lose(&mut self, slot: u32, path: Path) {
        if let Some(session) = self.sessions[slot as usize].session.as_deref_mut() {
            session.forget(path);
        }
    }

    fn dtls(&mut self, slot: u32, path: Path, datagram: &[u8], now: Instant) {
        let place = &mut self.sessions[slot as usize];
        let Some(session) = place.session.as_deref_mut() else {
            return;
        };
        session.dtls_path = Some(path);
        let progress = self
            .acceptor
            .receive(&mut session.association, datagram, now);
        self.flush_dtls();
        match progress {
            Ok(Progress::Pending) => {}
            Ok(Progress::Connected(keys)) => self.connected(slot, path, keys, now),
            Ok(Progress::Closed) => {
                self.end(slot, Reason::PeerClosed, now);
                return;
            }
            Err(error) if error.is_fatal() => {
                self.fail(slot, error, now);
                return;
            }
            Err(_) => self.counters.dtls_refused += 1,
        }
        self.schedule(slot);
    }

    fn connected(&mut self, slot: u32, path: Path, keys: Keys, now: Instant) {
        let Ok(secure) = Secure::new(&keys) else {
            self.fail(slot, dtls::Error::Crypto, now);
            return;
        };
        let place = &mut self.sessions[slot as usize];
        let Some(session) = place.session.as_deref_mut() else {
            return;
        };
        session.secure = Some(Box::new(secure));
        self.counters.connected += 1;
        let handle = Handle {
            slot,
            generation: place.generation,
        };
        let event = Event::Connected {
            keys: Box::new(keys),
            path: session.path().unwrap_or(path),
        };
        self.events.push_back((handle, event));
    }

    fn fail(&mut self, slot: u32, error: dtls::Error, now: Instant) {
        let session = self.sessions[slot as usize].session.as_deref();
        let reason = if session.is_some_and(|session| session.secure.is_some()) {
            Reason::PeerClosed
        } else {
            self.counters.handshakes_failed += 1;
            Reason::Dtls(error)
        };
        self.end(slot, reason, now);
    }

    fn srtp<'a>(&mut self, slot: u32, datagram: &'a mut [u8]) -> Received<'a> {
        let place = &mut self.sessions[slot as usize];
        let handle = Handle {
            slot,
            generation: place.generation,
        };
        let secure = place.session.as_deref_mut().and_then(|s| s.secure.as_mut());
        let Some(secure) = secure else {
            self.counters.srtp_refused += 1;
            return Received::Nothing;
        };
        if rtcp::is_rtcp(datagram) {
            if let Ok(len) = secure.rtcp_in.open(datagram) {
                return Received::Rtcp {
                    session: handle,
                    packet: &datagram[..len],
                };
            }
        } else if let Ok(opened) = secure.rtp_in.open(datagram) {
            return Received::Rtp {
                session: handle,
                index: opened.index,
                packet: &datagram[..opened.len],
            };
        }
        self.counters.srtp_refused += 1;
        Received::Nothing
    }
}
