//! A worker's handshakes.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use net::panics::{self, Part};
use net::shares::{Bounds, ShareTicket, Shares, Standing};
use rtc_dtls::config::HandshakeConfig;
use rtc_dtls::endpoint::Endpoint;
use rtc_shared::TransportProtocol;

use super::guard::{CLIENT_HELLO, Guard, SERVER_HELLO, has, is_only};
use super::hello::HelloReader;
use super::keys::{Side, keys, progress};
use super::{Error, Initiator, ServerIdentity};
use crate::sdp::{Fingerprint, Setup};
use crate::srtp::{Keys, Profile};

/// Handshakes that may be under way in one worker, each of which costs some ten kilobytes; and
/// those of one address. Beyond either the oldest of the address that has the most gives way. A
/// handshake takes a round trip or two, so many clients that come back behind one address after an
/// outage are admitted.
const HALF_OPEN: Bounds = Bounds {
    max: 1_024,
    share: 256,
    reserve: 0,
};

/// Names an association. No two have the same name at the same time.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Key(pub u64);

impl Key {
    /// The library tells associations apart by address, so each has one that means nothing else.
    fn address(self) -> SocketAddr {
        SocketAddr::new(Ipv6Addr::from_bits(self.0.into()).into(), 1)
    }
}

/// The state of one session's handshake.
#[derive(Debug)]
pub struct Association {
    key: Key,
    /// The certificate that the peer's offer named.
    expected: Fingerprint,
    setup: Setup,
    stage: Stage,
    /// Its share of the half-open handshakes.
    ticket: Option<ShareTicket>,
}

#[derive(Debug)]
enum Stage {
    /// Nothing was received or sent.
    Idle,
    /// The ClientHello is arriving.
    Hello(Box<HelloReader>),
    /// The library has it.
    Open { role: Role, guard: Guard },
}

#[derive(Debug)]
enum Role {
    Server(Server),
    Client,
}

/// What is known of a handshake in which the peer is the client.
#[derive(Debug)]
struct Server {
    profile: Profile,
    /// Whether our long flight has been sent, and the next to come is the client's.
    is_answered: bool,
    is_complete: bool,
}

/// The result of a datagram.
#[derive(Debug)]
pub enum Progress {
    /// Nothing yet.
    Pending,
    /// The handshake is complete and the peer's certificate is the one of its offer.
    Connected(Keys),
    /// The peer closed the association.
    Closed,
}

impl Association {
    /// An association that waits for its peer, or to be [opened](Acceptor::open): `setup` says which.
    pub fn new(key: Key, expected: Fingerprint, setup: Setup) -> Self {
        Self {
            key,
            expected,
            setup,
            stage: Stage::Idle,
            ticket: None,
        }
    }

    /// Who opens it.
    pub const fn setup(&self) -> Setup {
        self.setup
    }
}

/// The handshakes of one worker.
pub struct Acceptor {
    gcm: Endpoint,
    cm: Endpoint,
    opening: Arc<HandshakeConfig>,
    /// Of the associations that we opened.
    initiators: HashMap<Key, Initiator>,
    transmits: VecDeque<(Key, BytesMut)>,
    half_open: Shares<Key>,
    evicted: VecDeque<Key>,
}

base::debug!(Acceptor as it { half_open: it.half_open.len() });

impl Acceptor {
    /// An acceptor without associations.
    pub fn new(identity: &ServerIdentity) -> Self {
        let local = Key(0).address();
        let endpoint = |config| Endpoint::new(local, TransportProtocol::UDP, Some(config));
        Self {
            gcm: endpoint(identity.gcm.clone()),
            cm: endpoint(identity.cm.clone()),
            opening: identity.opening.clone(),
            initiators: HashMap::new(),
            transmits: VecDeque::new(),
            half_open: Shares::new(HALF_OPEN),
            evicted: VecDeque::new(),
        }
    }

    /// How many handshakes are under way.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Opens an association with the peer at the address `from`, if that is ours to do and was not done. What follows
    /// is as after [`Acceptor::receive`].
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
        self.initiators.insert(association.key, initiator);
        association.stage = Stage::Open {
            role: Role::Client,
            guard: Guard::new(),
        };
        self.drain(association.key, &Role::Client);
        Ok(())
    }

    /// Takes a share of the half-open handshakes for an association.
    fn begin(&mut self, association: &mut Association, from: IpAddr) {
        let key = association.key;
        let (ticket, evicted) = self.half_open.take(from, Standing::Stranger, key);
        association.ticket = Some(ticket);
        self.evicted.extend(evicted.map(|(key, _)| key));
    }

    /// Takes a datagram of an association's peer at the address `from`. Datagrams to send are in
    /// [`Acceptor::poll_transmit`], associations that give way for this one in
    /// [`Acceptor::poll_evicted`]. After a fatal error or [`Progress::Closed`] the association is
    /// to be [closed](Acceptor::close).
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
            let open = Stage::Open {
                role: Role::Server(Server {
                    profile,
                    is_answered: false,
                    is_complete: false,
                }),
                guard: Guard::new(),
            };
            let mut progress = Progress::Pending;
            if let Stage::Hello(reader) = std::mem::replace(&mut association.stage, open) {
                for datagram in reader.into_datagrams() {
                    progress = self.feed(association, &datagram, now)?;
                }
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
            && is_only(datagram, CLIENT_HELLO)
        {
            // Our flight was lost, or is under way. A repeated hello would stop the library's
            // clock, and nothing would be sent again; so the library does not get it, and its clock
            // repeats the flight.
            return Ok(Progress::Pending);
        }
        guard.admit(datagram)?;
        let progress = match role {
            Role::Server(server) => self.serve(*key, server, expected, datagram, now),
            Role::Client => self.follow(*key, datagram, now),
        }?;
        if let Progress::Connected(_) = progress {
            guard.complete();
            if let Some(ticket) = ticket.take() {
                self.half_open.give_back(ticket);
            }
        }
        Ok(progress)
    }

    /// Gives the library a datagram of a client's.
    fn serve(
        &mut self,
        key: Key,
        server: &mut Server,
        expected: &Fingerprint,
        datagram: &[u8],
        now: Instant,
    ) -> Result<Progress, Error> {
        let address = key.address();
        let endpoint = match server.profile {
            Profile::Aes128Gcm => &mut self.gcm,
            Profile::Aes128CmSha1_80 => &mut self.cm,
        };
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

    /// Gives the library a datagram of a peer's whose association we opened.
    fn follow(&mut self, key: Key, datagram: &[u8], now: Instant) -> Result<Progress, Error> {
        let initiator = self.initiators.get_mut(&key).ok_or(Error::Handshake)?;
        let progress = initiator.receive(datagram, now);
        self.drain(key, &Role::Client);
        progress
    }

    /// The next datagram to send, and whose it is.
    pub fn poll_transmit(&mut self) -> Option<(Key, BytesMut)> {
        self.transmits.pop_front()
    }

    /// The next association whose handshake has to give way for another's: it is to be
    /// [closed](Acceptor::close).
    pub fn poll_evicted(&mut self) -> Option<Key> {
        self.evicted.pop_front()
    }

    /// When an association is to be woken.
    pub fn timeout(&self, association: &Association) -> Option<Instant> {
        let key = association.key;
        let Stage::Open { role, .. } = &association.stage else {
            return None;
        };
        match role {
            Role::Client => self.initiators.get(&key)?.timeout(),
            Role::Server(server) => match server.profile {
                Profile::Aes128Gcm => self.gcm.poll_timeout(&key.address()),
                Profile::Aes128CmSha1_80 => self.cm.poll_timeout(&key.address()),
            },
        }
    }

    /// Wakes an association: what was lost is sent again.
    pub fn handle_timeout(&mut self, association: &Association, now: Instant) -> Result<(), Error> {
        let key = association.key;
        let Stage::Open { role, .. } = &association.stage else {
            return Ok(());
        };
        let woken = match role {
            Role::Client => match self.initiators.get_mut(&key) {
                Some(initiator) => initiator.handle_timeout(now),
                None => Ok(()),
            },
            Role::Server(server) => {
                let woken = self
                    .endpoint(server.profile)
                    .handle_timeout(key.address(), now);
                woken.map_err(|_| Error::TimedOut)
            }
        };
        self.drain(key, role);
        woken
    }

    /// Ends an association. A peer that has completed its handshake is notified.
    pub fn close(&mut self, association: &Association, now: Instant) {
        if let Some(ticket) = association.ticket {
            self.half_open.give_back(ticket);
        }
        let key = association.key;
        if let Stage::Open { role, .. } = &association.stage {
            let stopped = panics::contain(|| match role {
                Role::Server(server) => {
                    drop(self.endpoint(server.profile).stop(now, key.address()));
                }
                Role::Client => {
                    if let Some(initiator) = self.initiators.get_mut(&key) {
                        initiator.close(now);
                    }
                }
            });
            // What is left in the library's queue, at the latest after a panic, belongs to this
            // association.
            self.drain(key, role);
            self.initiators.remove(&key);
            if let Err(panic) = stopped {
                panic.report(Part::Webrtc, &"the end of a WebRTC session");
            }
        }
    }

    /// Moves what the library wants to send for an association to our queue.
    fn drain(&mut self, key: Key, role: &Role) {
        match role {
            Role::Server(server) => {
                while let Some(transmit) = self.endpoint(server.profile).poll_transmit() {
                    self.transmits.push_back((key, transmit.message));
                }
            }
            Role::Client => {
                let Some(initiator) = self.initiators.get_mut(&key) else {
                    return;
                };
                while let Some(datagram) = initiator.poll_transmit() {
                    self.transmits.push_back((key, datagram));
                }
            }
        }
    }

    fn endpoint(&mut self, profile: Profile) -> &mut Endpoint {
        match profile {
            Profile::Aes128Gcm => &mut self.gcm,
            Profile::Aes128CmSha1_80 => &mut self.cm,
        }
    }
}
