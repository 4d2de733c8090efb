//! One session with a server.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::checks::Checks;
use super::{Answer, ClientIdentity, Error};
use crate::dtls::{Initiator, Progress};
use crate::ice::{Check, Credentials, looks_like_check};
use crate::mux::Kind;
use crate::sdp::Fingerprint;
use crate::srtp::Keys;

/// Time between two checks until one is answered.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Range of the interval between checks of a proved path: 4 to 6 seconds (RFC 7675 §5.1), so that clients that started together
/// do not stay in step.
const CONSENT_INTERVAL_MIN: Duration = Duration::from_secs(4);
const CONSENT_INTERVAL_SPREAD_MILLIS: u64 = 2_000;

/// Lifetime of consent (RFC 7675 §5.1), and the longest wait for the first response.
const CONSENT: Duration = Duration::from_secs(30);

/// Whether a datagram is for [`srtp`](crate::srtp) and not for a [`Peer`].
pub fn is_media(datagram: &[u8]) -> bool {
    Kind::of(datagram) == Kind::Srtp
}

/// Event of a session.
#[derive(Debug)]
pub enum Event {
    /// The server's certificate matches its answer; these are the keys, ours as `local`.
    Connected(Box<Keys>),
    /// The server closed the session.
    Closed,
}

/// One session of the controlling side. It checks the path, nominates it, starts the handshake once a check was answered, and
/// renews the server's consent.
#[derive(Debug)]
pub struct Peer {
    identity: ClientIdentity,
    local: Credentials,
    expected: Fingerprint,
    checks: Checks,
    handshake: Option<Initiator>,
    /// Time of the server's last consent; initially, the start of the session.
    heard: Instant,
    is_proved: bool,
    next_check: Instant,
    transmits: VecDeque<Bytes>,
}

impl Peer {
    /// Creates a session as `answer` accepted the offer that named `local`. `random` must differ between sessions. The first
    /// check is due at once.
    pub fn new(
        identity: &ClientIdentity,
        local: Credentials,
        answer: &Answer,
        random: u64,
        now: Instant,
    ) -> Self {
        Self {
            identity: identity.clone(),
            checks: Checks::new(local.ufrag(), &answer.ice, random),
            local,
            expected: answer.fingerprint,
            handshake: None,
            heard: now,
            is_proved: false,
            next_check: now,
            transmits: VecDeque::new(),
        }
    }

    /// Processes a datagram from `from` that is not media. After an error the session is over.
    ///
    /// # Errors
    /// The server refuses a check, or the handshake fails.
    pub fn receive(
        &mut self,
        datagram: &[u8],
        from: SocketAddr,
        now: Instant,
    ) -> Result<Option<Event>, Error> {
        match Kind::of(datagram) {
            Kind::Stun if looks_like_check(datagram) => self.answer(datagram, from),
            Kind::Stun => self.hear(datagram, now)?,
            Kind::Dtls => return self.shake(datagram, now),
            Kind::Srtp | Kind::Other => {}
        }
        Ok(None)
    }

    /// Returns the next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Bytes> {
        self.transmits.pop_front()
    }

    /// Returns the time at which [`Peer::handle_timeout`] is next due.
    pub fn timeout(&self) -> Instant {
        let handshake = self.handshake.as_ref().and_then(Initiator::timeout);
        let due = self.next_check.min(self.heard + CONSENT);
        handshake.map_or(due, |repeat| repeat.min(due))
    }

    /// Checks the path and retransmits lost messages. After an error the session is over.
    ///
    /// # Errors
    /// The server has been silent for too long.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), Error> {
        if now >= self.heard + CONSENT {
            return Err(if self.is_proved {
                Error::Silent
            } else {
                Error::NotReached
            });
        }
        if now >= self.next_check {
            self.check(now);
        }
        if let Some(handshake) = &mut self.handshake {
            handshake.handle_timeout(now)?;
            self.flush();
        }
        Ok(())
    }

    /// Checks the path now; for callers that have changed their own address.
    pub fn check(&mut self, now: Instant) {
        let crypto = self.identity.provider.crypto();
        self.transmits
            .extend(self.checks.request(crypto).map(Bytes::from));
        self.next_check = now
            + if self.is_proved {
                let spread = self.checks.next() % CONSENT_INTERVAL_SPREAD_MILLIS;
                CONSENT_INTERVAL_MIN + Duration::from_millis(spread)
            } else {
                CHECK_INTERVAL
            };
    }

    /// Closes the session; [`Peer::poll_transmit`] yields the message. Later input is ignored.
    pub fn close(&mut self, now: Instant) {
        if let Some(handshake) = &mut self.handshake {
            handshake.close(now);
            self.flush();
        }
        self.handshake = None;
    }

    /// Answers a check of a server that is not lite. The server is expected not to be controlling.
    fn answer(&mut self, datagram: &[u8], from: SocketAddr) {
        let crypto = self.identity.provider.crypto();
        let password = self.local.password();
        if let Ok(mut check) = Check::verify(datagram, password, crypto) {
            check.role_conflict = false;
            let answer = check.answer(from, password, crypto);
            self.transmits
                .extend(answer.map(|(response, _)| Bytes::from(response)));
        }
    }

    fn hear(&mut self, datagram: &[u8], now: Instant) -> Result<(), Error> {
        let crypto = self.identity.provider.crypto();
        if !self.checks.is_answer(datagram, crypto)? {
            return Ok(());
        }
        self.heard = now;
        if std::mem::replace(&mut self.is_proved, true) {
            return Ok(());
        }
        self.next_check = now + CONSENT_INTERVAL_MIN;
        let config = &self.identity.config;
        self.handshake = Some(Initiator::begin(config, self.expected, now)?);
        self.flush();
        Ok(())
    }

    fn shake(&mut self, datagram: &[u8], now: Instant) -> Result<Option<Event>, Error> {
        let Some(handshake) = &mut self.handshake else {
            return Ok(None);
        };
        let progress = handshake.receive(datagram, now);
        self.flush();
        Ok(match progress? {
            Progress::Pending => None,
            Progress::Connected(keys) => Some(Event::Connected(Box::new(keys))),
            Progress::Closed => Some(Event::Closed),
        })
    }

    fn flush(&mut self) {
        let Some(handshake) = &mut self.handshake else {
            return;
        };
        while let Some(datagram) = handshake.poll_transmit() {
            self.transmits.push_back(datagram.freeze());
        }
    }
}
