//! Handshakes of one worker.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use base::shares::{Bounds, ShareTicket, Shares, Standing};
use bytes::BytesMut;
use net::panics::{self, Part};
use rtc_dtls::config::HandshakeConfig;
use rtc_dtls::endpoint::Endpoint;
use rtc_shared::TransportProtocol;

use super::guard::{CLIENT_HELLO, Guard, SERVER_HELLO, has, is_only};
use super::hello::HelloReader;
use super::initiator::SERVER;
use super::keys::{Side, keys, progress};
use super::{Error, Initiator, ServerIdentity};
use crate::sdp::{Fingerprint, Setup};
use crate::srtp::{Keys, Profile};

/// Limits of the handshakes under way in one worker, each of which costs about ten kilobytes, and of those from one address.
/// Beyond either limit the oldest handshake of the address that has the most is evicted. A handshake takes one or two round
/// trips, so many clients that reconnect behind one address after an outage are admitted.
const HALF_OPEN: Bounds = Bounds {
    max: 1_024,
    share: 256,
    reserve: 0,
};

/// Name of an association. No two associations have the same name at the same time.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Key(pub u64);

impl Key {
    /// Returns the address that stands for this association; the library distinguishes associations by address, so each has one
    /// that means nothing else.
    fn address(self) -> SocketAddr {
        SocketAddr::new(Ipv6Addr::from_bits(self.0.into()).into(), 1)
    }
}

/// State of one session's handshake.
#[derive(Debug)]
pub struct Association {
    key: Key,
    /// Certificate that the peer's offer named.
    expected: Fingerprint,
    setup: Setup,
    stage: Stage,
    /// Share of the half-open handshakes.
    ticket: Option<ShareTicket>,
}

#[derive(Debug)]
enum Stage {
    /// Nothing was received or sent.
    Idle,
    /// The ClientHello is arriving.
    Hello(Box<HelloReader>),
    /// The library handles the handshake.
    Open { role: Role, guard: Guard },
}

#[derive(Debug)]
enum Role {
    Server(Server),
    Client(Box<Initiator>),
}

/// State of a handshake in which the peer is the client.
#[derive(Debug)]
struct Server {
    profile: Profile,
    /// Whether our long flight was sent, so that the client's flight is next.
    is_answered: bool,
    is_complete: bool,
}

/// Result of a datagram.
#[derive(Debug)]
pub enum Progress {
    /// The handshake has not completed.
    Pending,
    /// The handshake is complete, and the peer's certificate matches its offer.
    Connected(Keys),
    /// The peer closed the association.
    Closed,
}

impl Association {
    /// Creates an association that waits for its peer, or to be [opened](Acceptor::open), as `setup` says.
    pub fn new(key: Key, expected: Fingerprint, setup: Setup) -> Self {
        Self {
            key,
            expected,
            setup,
            stage: Stage::Idle,
            ticket: None,
        }
    }

    /// Returns which side opens the association.
    pub const fn setup(&self) -> Setup {
        self.setup
    }
}

/// All handshakes of one worker; call [`receive`](Self::receive) for each datagram, then send what
/// [`poll_transmit`](Self::poll_transmit) returns.
pub struct Acceptor {
    /// Endpoints of handshakes that peers open, in the order of [`Profile`].
    endpoints: [Endpoint; 2],
    opening: Arc<HandshakeConfig>,
    transmits: VecDeque<(Key, BytesMut)>,
    half_open: Shares<Key>,
    evicted: VecDeque<Key>,
}

base::debug!(Acceptor as it { half_open: it.half_open.len() });

impl Acceptor {
    /// Creates an acceptor without associations.
    pub fn new(identity: &ServerIdentity) -> Self {
        let local = Key(0).address();
        let endpoint = |config| Endpoint::new(local, TransportProtocol::UDP, Some(config));
        Self {
            endpoints: identity.serving.clone().map(endpoint),
            opening: identity.opening.clone(),
            transmits: VecDeque::new(),
            half_open: Shares::new(HALF_OPEN),
            evicted: VecDeque::new(),
        }
    }

    /// Returns the number of handshakes under way.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Opens an association with the peer at the address `from`, if that is our task and was not done yet. The caller continues
    /// as after [`Acceptor::receive`].
    pub fn open(
        &mut self,
        association: &mut Association,
        from: IpAddr,
        now: Instant,
    ) -> Result<(), Error> {
        let (Setup::Active, Stage::Idle) = (association.setup, &association.stage) else {
            return Ok(());
        };
        self.begin(association, from);
        let initiator = Initiator::begin(&self.opening, association.expected, now)?;
        let mut role = Role::Client(Box::new(initiator));
        self.drain(association.key, &mut role);
        association.stage = Stage::Open {
            role,
            guard: Guard::new(),
        };
        Ok(())
    }

    /// Takes a share of the half-open handshakes for an association.
    fn begin(&mut self, association: &mut Association, from: IpAddr) {
        let key = association.key;
        let (ticket, evicted) = self.half_open.take(from, Standing::Stranger, key);
        association.ticket = Some(ticket);
        self.evicted.extend(evicted.map(|(key, _)| key));
    }

    /// Processes a datagram of an association's peer at the address `from`. [`Acceptor::poll_transmit`] yields the datagrams to
    /// send, [`Acceptor::poll_evicted`] the associations that were evicted in favour of this one. After a fatal error or
    /// [`Progress::Closed`] the association must be [closed](Acceptor::close).
    pub fn receive(
        &mut self,
        association: &mut Association,
        from: IpAddr,
        datagram: &[u8],
        now: Instant,
    ) -> Result<Progress, Error> {
        if let Stage::Idle = association.stage {
            if association.setup == Setup::Active {
                return Err(Error::NotHello);
            }
            self.begin(association, from);
            association.stage = Stage::Hello(Box::new(HelloReader::new(now)));
        }
        if let Stage::Hello(reader) = &mut association.stage {
            let Some(offered) = reader.push(datagram, now)? else {
                return Ok(Progress::Pending);
            };
            let profile = match (offered.gcm, offered.cm) {
                (true, _) => Profile::Aes128Gcm,
                (_, true) => Profile::Aes128CmSha1_80,
                _ => return Err(Error::NoProfile),
            };
            let datagrams = std::mem::take(&mut reader.datagrams);
            association.stage = Stage::Open {
                role: Role::Server(Server {
                    profile,
                    is_answered: false,
                    is_complete: false,
                }),
                guard: Guard::new(),
            };
            let mut progress = Progress::Pending;
            for datagram in datagrams {
                progress = self.feed(association, &datagram, now)?;
            }
            return Ok(progress);
        }
        self.feed(association, datagram, now)
    }

    fn feed(
        &mut self,
        association: &mut Association,
        datagram: &[u8],
        now: Instant,
    ) -> Result<Progress, Error> {
        let Association {
            key,
            expected,
            stage,
            ticket,
            ..
        } = association;
        let Stage::Open { role, guard } = stage else {
            return Ok(Progress::Pending);
        };
        if let Role::Server(server) = role
            && server.is_answered
            && is_only(datagram, |record| record.begins(CLIENT_HELLO))
        {
            // Our flight was lost or is under way. A repeated hello would stop the library's timer, and nothing would be
            // retransmitted. The library therefore does not receive it, and its timer repeats the flight.
            return Ok(Progress::Pending);
        }
        guard.admit(datagram)?;
        let progress = match role {
            Role::Server(server) => self.serve(*key, server, expected, datagram, now),
            Role::Client(initiator) => {
                let progress = initiator.receive(datagram, now);
                self.drain(*key, role);
                progress
            }
        }?;
        if let Progress::Connected(_) = progress {
            guard.complete();
            if let Some(ticket) = ticket.take() {
                self.half_open.give_back(ticket);
            }
        }
        Ok(progress)
    }

    /// Gives the library a client's datagram.
    fn serve(
        &mut self,
        key: Key,
        server: &mut Server,
        expected: &Fingerprint,
        datagram: &[u8],
        now: Instant,
    ) -> Result<Progress, Error> {
        let address = key.address();
        let endpoint = &mut self.endpoints[server.profile as usize];
        let read = endpoint.read(now, address, None, BytesMut::from(datagram));
        while let Some(transmit) = endpoint.poll_transmit() {
            server.is_answered |= has(&transmit.message, SERVER_HELLO);
            self.transmits.push_back((key, transmit.message));
        }
        progress(read, &mut server.is_complete, || {
            keys(
                endpoint.get_connection_state(address),
                Side::Server,
                expected,
            )
        })
    }

    /// Returns the next datagram to send, and its association.
    pub fn poll_transmit(&mut self) -> Option<(Key, BytesMut)> {
        self.transmits.pop_front()
    }

    /// Returns the next association whose handshake was evicted in favour of another; it must be [closed](Acceptor::close).
    pub fn poll_evicted(&mut self) -> Option<Key> {
        self.evicted.pop_front()
    }

    /// Returns the time at which an association must be woken.
    pub fn timeout(&self, association: &Association) -> Option<Instant> {
        let key = association.key;
        let Stage::Open { role, .. } = &association.stage else {
            return None;
        };
        match role {
            Role::Client(initiator) => initiator.timeout(),
            Role::Server(server) => {
                self.endpoints[server.profile as usize].poll_timeout(&key.address())
            }
        }
    }

    /// Wakes an association, which retransmits what was lost.
    pub fn handle_timeout(
        &mut self,
        association: &mut Association,
        now: Instant,
    ) -> Result<(), Error> {
        let key = association.key;
        let Stage::Open { role, .. } = &mut association.stage else {
            return Ok(());
        };
        let (endpoint, address) = self.endpoint(key, role);
        let woken = endpoint.handle_timeout(address, now);
        self.drain(key, role);
        woken.map_err(|_| Error::TimedOut)
    }

    /// Ends an association. A peer that has completed its handshake is notified.
    pub fn close(&mut self, association: &mut Association, now: Instant) {
        if let Some(ticket) = association.ticket {
            self.half_open.give_back(ticket);
        }
        let key = association.key;
        if let Stage::Open { role, .. } = &mut association.stage {
            let (endpoint, address) = self.endpoint(key, role);
            let stopped = panics::contain(|| drop(endpoint.stop(now, address)));
            // Datagrams left in the library's queue, for instance after a panic, belong to this association.
            self.drain(key, role);
            if let Err(panic) = stopped {
                panic.report(Part::Webrtc, &"the end of a WebRTC session");
            }
        }
    }

    /// Moves the datagrams that the library queued for an association to our queue.
    fn drain(&mut self, key: Key, role: &mut Role) {
        while let Some(transmit) = self.endpoint(key, role).0.poll_transmit() {
            self.transmits.push_back((key, transmit.message));
        }
    }

    /// Returns the library's endpoint of an association, and the address under which the endpoint knows the peer.
    fn endpoint<'a>(&'a mut self, key: Key, role: &'a mut Role) -> (&'a mut Endpoint, SocketAddr) {
        match role {
            Role::Server(server) => {
                let endpoint = &mut self.endpoints[server.profile as usize];
                (endpoint, key.address())
            }
            Role::Client(initiator) => (&mut initiator.endpoint, SERVER),
        }
    }
}
