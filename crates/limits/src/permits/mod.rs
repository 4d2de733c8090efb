//! Permits of connections and sessions: counts them per address, and selects the connection that gives way.
//!
//! A new connection always gets a permit. When its pool is full, or its address already has its share, the oldest connection of
//! the address with the most is evicted (see [`base::shares`]): its [`Evict`] is called, which ends it. So silent connections,
//! and sessions whose peers never connect, cost only their own address. An address that has or recently had a publisher has a
//! reserve of permits that cannot be evicted, so its encoder can always reconnect.
//!
//! A kept-alive connection that waits for its next request is idle. It does not count as pending, but takes the room that
//! pending connections leave in the pool, and gives way to any new connection that needs its capacity, its count or its
//! descriptor. Nothing is lost by that: its client connects again.
//!
//! A permit is a value whose drop returns it.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use base::Lock;
use base::shares::{Bounds, Crowded, ShareTicket, Shares, Standing, network};
use fanout::Permit;

use crate::admission::{ListenerPermit, Settings};
use crate::publishers::Publishers;
use crate::rejected::Rejected;
use crate::tally::Tally;

/// Pool in which a connection or session is pending, that is, neither a source nor a listener yet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Pool {
    /// Connections to an HTTP port, with TLS or without.
    Http,
    /// Connections to an RTMP port, with TLS or without.
    Rtmp,
    /// WebRTC sessions whose peers have not connected.
    Session,
}

/// Number of permits of an address with a publisher that never have to give way: its encoders, each twice, with a page and a
/// title client beside them.
const RESERVE: usize = 16;

impl Pool {
    const ALL: [Self; 3] = [Self::Http, Self::Rtmp, Self::Session];

    /// Returns the bounds of a pool, in total and for one address or IPv6 network.
    ///
    /// Pending connections on an HTTP port are those whose heads have not arrived, or which wait for a page or for the gate.
    /// Each holds a head of at most 16 KiB twice, as received and as parsed, in buffers that double as they grow, so 64 KiB;
    /// TLS adds about as much for its records. This bounds them at 512 MiB in the worst case. Over RTMP each connection may
    /// hold 256 KiB before it has presented a key, which makes 256 MiB. A session holds some kilobytes.
    ///
    /// The share bounds the memory that one address makes the server hold. A listener is pending for as long as its handshake
    /// and head take, so at 200 ms each, a share of 1,024 admits five thousand per second from one address: a proxy or a
    /// provider's NAT after an outage, or a load test on loopback, which is not exempt. With a smaller share such clients would
    /// evict each other. A publisher's RTMP commands take some round trips more, and an address has few publishers.
    fn bounds(self, settings: &Settings, descriptors_max: Option<u64>) -> Bounds {
        let (max, share) = match self {
            Self::Http => (connections(4_096, descriptors_max), 1_024),
            Self::Rtmp => (connections(1_024, descriptors_max), 64),
            Self::Session => sessions(settings.listeners),
        };
        Bounds {
            max,
            share,
            reserve: RESERVE,
        }
    }
}

/// Maximum number of idle connections of one address: a hundred browsers behind one NAT with the six connections that each may
/// keep, or those of an untrusted proxy.
const IDLE_SHARE: usize = 640;

/// Limits pending connections to a quarter of the descriptors, if that is not too few: otherwise new ones would be refused
/// before any had to give way.
fn connections(max: usize, descriptors_max: Option<u64>) -> usize {
    const FEW: usize = 256;
    let quarter = descriptors_max.map_or(usize::MAX, |all| all as usize / 4);
    max.min(quarter.max(FEW))
}

/// Returns the bounds of pending sessions. A session whose peer has not connected takes a listener's permit. Together such
/// sessions may take half of the listeners' permits, and one address an eighth.
fn sessions(listeners: Option<NonZeroU32>) -> (usize, usize) {
    let permits = listeners.map_or(usize::MAX, |max| max.get() as usize);
    ((permits / 2).clamp(1, 2_048), (permits / 8).clamp(1, 1_024))
}

/// Callback that ends a connection or session that must give way. Its argument is the reason; `None` if the connection had been
/// served and was idle. Called from the task of the new connection.
pub type Evict = Box<dyn FnOnce(Option<Rejected>) + Send>;

/// All permits.
#[derive(Debug)]
pub(crate) struct ConnectionPermits {
    per_ip: Option<NonZeroU32>,
    connections: Tally,
    pools: [Lock<Shares<Pending>>; Pool::ALL.len()],
    /// Connections between two requests.
    idle: Lock<Shares<Idle>>,
    /// Maximum number of connections to HTTP ports that are pending or idle, together.
    http_max: usize,
    publishers: Lock<Publishers>,
}

struct Pending(Evict);

struct Idle {
    evict: Evict,
    /// Address under which the connection is counted.
    connection: Option<IpAddr>,
}

base::debug!(Idle {});

base::debug!(Pending {});

impl ConnectionPermits {
    /// Creates the permits of a process that may have `descriptors_max` descriptors.
    pub(super) fn new(settings: &Settings, descriptors_max: Option<u64>) -> Arc<Self> {
        let shares = |pool: Pool| Shares::new(pool.bounds(settings, descriptors_max));
        let http = Pool::Http.bounds(settings, descriptors_max);
        let idle = Bounds {
            share: IDLE_SHARE,
            ..http
        };
        Arc::new(Self {
            idle: Lock::new(Shares::new(idle)),
            http_max: http.max,
            per_ip: settings.per_ip,
            connections: Tally::default(),
            pools: Pool::ALL.map(|pool| Lock::new(shares(pool))),
            publishers: Lock::default(),
        })
    }

    /// Returns a permit for a connection. A trusted proxy's connection is not counted for the proxy's address; its clients are
    /// counted once the head has named them.
    pub(super) fn connection(
        self: &Arc<Self>,
        pool: Pool,
        address: IpAddr,
        is_proxy: bool,
        evict: Evict,
    ) -> Result<ConnectionPermit, Rejected> {
        let mut permit = ConnectionPermit::of(self);
        match is_proxy {
            true => permit.proxy = Some(address),
            false => permit.count(address)?,
        }
        permit.wait(pool, evict);
        Ok(permit)
    }

    /// Counts an address among the connections, for a request on a connection that it shares with other clients.
    pub(super) fn counted(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionPermit, Rejected> {
        let mut permit = ConnectionPermit::of(self);
        permit.count(address)?;
        Ok(permit)
    }

    /// Ends an idle connection, if there is one, for a new one that needs its descriptor.
    pub(super) fn evict_idle(&self) -> bool {
        let idle = self.idle.lock().evict_greediest();
        let is_there = idle.is_some();
        self.end_idle(idle);
        is_there
    }

    /// Returns the number of idle connections.
    pub(super) fn idle_now(&self) -> usize {
        self.idle.lock().len()
    }

    /// Returns the number of pending connections or sessions in a pool.
    pub(super) fn pending(&self, pool: Pool) -> usize {
        self.pool(pool).len()
    }

    fn take(&self, pool: Pool, address: IpAddr, standing: Standing, evict: Evict) -> ShareTicket {
        if pool == Pool::Http && self.pending(pool) + self.idle.lock().len() >= self.http_max {
            self.evict_idle();
        }
        let taken = self.pool(pool).take(address, standing, Pending(evict));
        // The pool is unlocked again: an evicted connection returns permits as it ends.
        let (ticket, evicted) = taken;
        if let Some((Pending(evict), crowded)) = evicted {
            evict(Some(match (pool, crowded) {
                (Pool::Session, _) => Rejected::PendingSessions,
                (_, Crowded::Share) => Rejected::PendingShare,
                (_, Crowded::Pool) => Rejected::Pending,
            }));
        }
        ticket
    }

    fn take_idle(&self, address: IpAddr, standing: Standing, idle: Idle) -> ShareTicket {
        let (ticket, evicted) = self.idle.lock().take(address, standing, idle);
        self.end_idle(evicted.map(|(idle, _)| idle));
        if self.pending(Pool::Http) + self.idle.lock().len() > self.http_max {
            self.evict_idle();
        }
        ticket
    }

    fn end_idle(&self, idle: Option<Idle>) {
        if let Some(Idle { evict, connection }) = idle {
            if let Some(address) = connection {
                self.connections.give_back(address);
            }
            evict(None);
        }
    }

    /// Counts one more connection of an address; an idle one of the same address may have to end for it.
    fn count(&self, address: IpAddr, max: u32) -> bool {
        if self.connections.take(address, max) {
            return true;
        }
        let idle = self.idle.lock().evict_of(address);
        let is_there = idle.is_some();
        self.end_idle(idle);
        is_there && self.connections.take(address, max)
    }

    fn standing(&self, address: IpAddr) -> Standing {
        let publishers = self.publishers.lock();
        match publishers.are_at(network(address), Instant::now()) {
            true => Standing::Known,
            false => Standing::Stranger,
        }
    }

    fn pool(&self, pool: Pool) -> MutexGuard<'_, Shares<Pending>> {
        self.pools[pool as usize].lock()
    }
}

/// Permit of a connection or a session, for its life.
#[derive(Debug)]
pub struct ConnectionPermit {
    permits: Arc<ConnectionPermits>,
    /// Trusted proxy that made the connection.
    proxy: Option<IpAddr>,
    /// Address of the client, once it is known.
    address: Option<IpAddr>,
    /// Address under which the connection is counted.
    connection: Option<IpAddr>,
    /// Ticket of the pool, until the connection is served.
    pending: Option<(Pool, ShareTicket)>,
    /// Ticket among the idle connections, between two requests.
    idle: Option<ShareTicket>,
    /// Whether the connection counts as a publisher.
    is_publisher: bool,
}

impl ConnectionPermit {
    fn of(permits: &Arc<ConnectionPermits>) -> Self {
        Self {
            permits: Arc::clone(permits),
            proxy: None,
            address: None,
            connection: None,
            pending: None,
            idle: None,
            is_publisher: false,
        }
    }

    /// Counts the connection for the client of the request that has arrived; on a proxy's connection each request may have
    /// another client.
    pub fn charge(&mut self, address: IpAddr) -> Result<(), Rejected> {
        if self.address == Some(network(address)) {
            return match self.connection {
                Some(_) => Ok(()),
                // A session was counted in place of the connection.
                None => self.count(address),
            };
        }
        self.discharge();
        self.count(address)?;
        if let Some((pool, ticket)) = self.pending.take() {
            // A connection that was evicted meanwhile has no permit to return, and ends.
            let returned = self.permits.pool(pool).give_back(ticket);
            if let Some(Pending(evict)) = returned {
                self.wait(pool, evict);
            }
        }
        Ok(())
    }

    /// Assigns the proxy's connection to one client for its whole life. The client may be another trusted proxy.
    pub fn pass_on(&mut self, address: IpAddr, is_proxy: bool) -> Result<(), Rejected> {
        self.proxy = is_proxy.then_some(address);
        match is_proxy {
            true => Ok(()),
            false => self.charge(address),
        }
    }

    fn count(&mut self, address: IpAddr) -> Result<(), Rejected> {
        let address = network(address);
        if let Some(max) = self.permits.per_ip {
            if !self.permits.count(address, max.get()) {
                return Err(Rejected::Address);
            }
            self.connection = Some(address);
        }
        self.address = Some(address);
        Ok(())
    }

    fn discharge(&mut self) {
        self.address = None;
        if let Some(address) = self.connection.take() {
            self.permits.connections.give_back(address);
        }
    }

    /// Returns the address that holds the permit, and its standing: the proxy's own while no client is known.
    fn holder(&self) -> Option<(IpAddr, Standing)> {
        match (self.address, self.proxy) {
            (Some(address), _) => Some((address, self.permits.standing(address))),
            (None, Some(proxy)) => Some((proxy, Standing::Proxy)),
            (None, None) => None,
        }
    }

    /// Marks the connection as pending.
    fn wait(&mut self, pool: Pool, evict: Evict) {
        if let Some((address, standing)) = self.holder() {
            let ticket = self.permits.take(pool, address, standing, evict);
            self.pending = Some((pool, ticket));
        }
    }

    /// Marks the connection as idle: it was served and waits for its next request, and is the first to give way. It continues
    /// with [`wake`](Self::wake).
    pub fn rest(&mut self) {
        // A connection that was evicted meanwhile ends.
        if let Some(evict) = self.hold() {
            self.rest_again(evict);
        }
    }

    /// Marks a connection that was [held](Self::hold) as idle again.
    pub fn rest_again(&mut self, evict: Evict) {
        if self.proxy.is_some() {
            self.discharge();
        }
        if let Some((address, standing)) = self.holder() {
            let connection = self.connection.take();
            let idle = Idle { evict, connection };
            self.idle = Some(self.permits.take_idle(address, standing, idle));
        }
    }

    /// Marks the connection as pending because its next (or first) request has begun. Returns false if the connection had to
    /// give way while it was idle: it ends.
    pub fn wake(&mut self) -> bool {
        if self.pending.is_some() {
            return true;
        }
        let ticket = self.idle.take();
        let returned = ticket.and_then(|ticket| self.permits.idle.lock().give_back(ticket));
        let Some(Idle { evict, connection }) = returned else {
            return false;
        };
        self.connection = connection;
        self.wait(Pool::Http, evict);
        true
    }

    /// Marks the connection as carrying a listener, so that it cannot give way. When it carries none any more, it may
    /// [rest](Self::rest_again) with the returned value.
    pub fn hold(&mut self) -> Option<Evict> {
        let (pool, ticket) = self.pending.take()?;
        let returned = self.permits.pool(pool).give_back(ticket);
        returned.map(|Pending(evict)| evict)
    }

    /// Marks the connection or session as a listener's, which bounds it from here on.
    pub fn settle(&mut self) {
        drop(self.hold());
    }

    /// Marks the connection or session as a publisher's; its address is remembered.
    pub fn settle_publisher(&mut self) {
        self.settle();
        if let Some(address) = self.address
            && !self.is_publisher
        {
            self.is_publisher = true;
            self.permits.publishers.lock().came(address, Instant::now());
        }
    }

    /// Returns a permit for a session that was opened over this connection. If connections are counted, the session is counted
    /// in place of the connection, which is counted again at its next request.
    fn session(&mut self, address: IpAddr, evict: Evict) -> Self {
        let permits = &self.permits;
        let ticket = permits.take(Pool::Session, address, permits.standing(address), evict);
        let mut permit = Self::of(permits);
        permit.address = Some(network(address));
        permit.pending = Some((Pool::Session, ticket));
        permit.connection = self.connection.take();
        permit
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.settle();
        if let Some(ticket) = self.idle.take() {
            let returned = self.permits.idle.lock().give_back(ticket);
            self.connection = returned.and_then(|idle| idle.connection);
        }
        if let Some(address) = self.address
            && self.is_publisher
        {
            self.permits.publishers.lock().left(address, Instant::now());
        }
        self.discharge();
    }
}

/// Permit of a connection, shared by its requests and by the sessions that they open.
#[derive(Clone, Debug)]
pub struct Handover(Arc<Lock<ConnectionPermit>>);

impl Handover {
    /// Wraps the permit of a connection.
    pub fn new(permit: ConnectionPermit) -> Self {
        Self(Arc::new(Lock::new(permit)))
    }

    /// Returns a permit for a session of a peer at this address.
    pub fn session(&self, address: IpAddr, evict: Evict) -> ConnectionPermit {
        self.permit().session(address, evict)
    }

    /// Returns the permit itself, to be changed by the code that keeps the connection.
    pub fn permit(&self) -> MutexGuard<'_, ConnectionPermit> {
        self.0.lock()
    }

    /// Returns the permit of a listener that keeps the connection.
    pub fn into_permit(self, permit: ListenerPermit) -> Permit {
        match Arc::try_unwrap(self.0) {
            Ok(own) => Permit::new((own.into_inner(), permit)),
            Err(shared) => Permit::new((shared, permit)),
        }
    }
}

#[cfg(test)]
mod tests;
