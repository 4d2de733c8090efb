//! The places of connections and sessions that wait to be served: who has how many, and who gives way.
//!
//! A newcomer always gets a place. When its pool is full, or its address has its share already, the
//! oldest of the address with the most is evicted (see [`net::shares`]): its [`Evict`] is called, which
//! ends it. So silent connections and sessions that nobody comes for cost their own address and keep
//! nobody out. An address with a publisher, now or lately, has a few places that never weigh, so its
//! encoder comes back through any crowd.
//!
//! A kept-alive connection that waits for its next request is idle. It has no place among those that wait
//! to be served, but in the room that they leave, and gives way to any newcomer that needs its place, its
//! count or its descriptor. Nothing is lost by that: its client connects again.
//!
//! A place is a value whose drop gives it back.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fanout::Permit;
use net::shares::{Bounds, Crowded, Shares, Standing, ShareTicket};

use super::limits::ListenerPermit;
use super::publishers::Publishers;
use super::rejected::Rejected;
use crate::address::network;

/// Where something is pending: neither a source nor a listener.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Pool {
    /// A connection to an HTTP port, with TLS or without.
    Http,
    /// The same to an RTMP port.
    Rtmp,
    /// A WebRTC session whose peer has not connected.
    Session,
}

/// ConnectionPermits of an address with a publisher that never have to give way: its encoders, each twice, with a
/// page and a title client beside them.
const RESERVE: usize = 16;

impl Pool {
    const ALL: [Self; 3] = [Self::Http, Self::Rtmp, Self::Session];

    /// How many there may be, in all and of one address or IPv6 network.
    ///
    /// On an HTTP port their heads have not arrived, or they wait for a page or for the gate. Each
    /// holds a head of at most 16 KiB twice, as it arrived and as it was read, in buffers that double
    /// as they grow, so 64 KiB; TLS adds about as much for its records. This bounds them at 512 MiB
    /// if all of them are as bad as they can be. Over RTMP each may hold 256 KiB before it has shown
    /// a key, which makes 256 MiB. A session holds some kilobytes.
    ///
    /// The share bounds what one address makes the server hold. A listener is pending for as long as
    /// its handshake and head take, so at 200 ms each, 1,024 let five thousand in each second from
    /// behind one address: a proxy or a provider's NAT after an outage, or a load test on loopback,
    /// which is not exempt. A smaller one would have such a crowd evict itself. A publisher's RTMP
    /// commands take some round trips more, and an address has few.
    fn bounds(self, settings: &config::Limits, descriptors_max: Option<u64>) -> Bounds {
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

/// Idle connections of one address: a hundred browsers behind one NAT with the six connections that each may
/// keep, or an outage's worth of a proxy that is not trusted.
const IDLE_SHARE: usize = 640;

/// Pending connections take no more than a quarter of the descriptors, where there are enough for that:
/// they would be refused before any had to give way.
fn connections(max: usize, descriptors_max: Option<u64>) -> usize {
    const FEW: usize = 256;
    let quarter = descriptors_max.map_or(usize::MAX, |all| all as usize / 4);
    max.min(quarter.max(FEW))
}

/// A session that nobody comes for takes a listener's permit while it waits. Together they may take half of
/// the permits there are, and one address an eighth.
fn sessions(listeners: Option<NonZeroU32>) -> (usize, usize) {
    let permits = listeners.map_or(usize::MAX, |max| max.get() as usize);
    ((permits / 2).clamp(1, 2_048), (permits / 8).clamp(1, 1_024))
}

/// Ends what has to give way, and is told why it is turned away; `None` where it had been served and was
/// idle. Called from the task of whoever came for it.
pub(crate) type Evict = Box<dyn FnOnce(Option<Rejected>) + Send>;

/// All places.
#[derive(Debug)]
pub(super) struct ConnectionPermits {
    per_ip: Option<NonZeroU32>,
    connections: Tally<IpAddr>,
    pools: [Mutex<Shares<Pending>>; Pool::ALL.len()],
    /// Connections between two requests.
    idle: Mutex<Shares<Idle>>,
    /// How many connections to HTTP ports may be pending and idle together.
    http_max: usize,
    publishers: Mutex<Publishers>,
}

struct Pending(Evict);

struct Idle {
    evict: Evict,
    /// For whom it is counted among the connections.
    connection: Option<IpAddr>,
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Idle")
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending")
    }
}

impl ConnectionPermits {
    /// For a process that may have so many descriptors.
    pub(super) fn new(settings: &config::Limits, descriptors_max: Option<u64>) -> Arc<Self> {
        let shares = |pool: Pool| Shares::new(pool.bounds(settings, descriptors_max));
        let http = Pool::Http.bounds(settings, descriptors_max);
        let idle = Bounds {
            share: IDLE_SHARE,
            ..http
        };
        Arc::new(Self {
            idle: Mutex::new(Shares::new(idle)),
            http_max: http.max,
            per_ip: settings.per_ip,
            connections: Tally::default(),
            pools: Pool::ALL.map(|pool| Mutex::new(shares(pool))),
            publishers: Mutex::default(),
        })
    }

    /// A place for a connection. A trusted proxy's is not counted for its address: its clients are, when
    /// the head has named them.
    pub(super) fn connection(
        self: &Arc<Self>,
        pool: Pool,
        address: IpAddr,
        is_proxy: bool,
        evict: Evict,
    ) -> Result<ConnectionPermit, Rejected> {
        let mut place = ConnectionPermit::of(self);
        match is_proxy {
            true => place.proxy = Some(address),
            false => place.count(address)?,
        }
        place.wait(pool, evict);
        Ok(place)
    }

    /// A count among the connections of an address, for a request that shares its connection with those of
    /// others.
    pub(super) fn counted(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionPermit, Rejected> {
        let mut place = ConnectionPermit::of(self);
        place.count(address)?;
        Ok(place)
    }

    /// Ends an idle connection, if there is one, for a newcomer that needs its descriptor.
    pub(super) fn evict_idle(&self) -> bool {
        let idle = self.idle().evict_greediest();
        let is_there = idle.is_some();
        self.end_idle(idle);
        is_there
    }

    /// Idle connections now.
    pub(super) fn idle_now(&self) -> usize {
        self.idle().len()
    }

    /// Pending in a pool.
    pub(super) fn pending(&self, pool: Pool) -> usize {
        self.pool(pool).len()
    }

    fn take(&self, pool: Pool, address: IpAddr, standing: Standing, evict: Evict) -> ShareTicket {
        if pool == Pool::Http && self.pending(pool) + self.idle().len() >= self.http_max {
            self.evict_idle();
        }
        let taken = self.pool(pool).take(address, standing, Pending(evict));
        // The pool is free again: the end of what is evicted gives places back.
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
        let (ticket, evicted) = self.idle().take(address, standing, idle);
        self.end_idle(evicted.map(|(idle, _)| idle));
        if self.pending(Pool::Http) + self.idle().len() > self.http_max {
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

    /// One more connection of an address, for which an idle one of the same address may have to end.
    fn count(&self, address: IpAddr, max: u32) -> bool {
        if self.connections.take(address, max) {
            return true;
        }
        let idle = self.idle().evict_of(address);
        let is_there = idle.is_some();
        self.end_idle(idle);
        is_there && self.connections.take(address, max)
    }

    fn idle(&self) -> MutexGuard<'_, Shares<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn standing(&self, address: IpAddr) -> Standing {
        match self.publishers().are_at(network(address), Instant::now()) {
            true => Standing::Known,
            false => Standing::Stranger,
        }
    }

    fn pool(&self, pool: Pool) -> MutexGuard<'_, Shares<Pending>> {
        let pool = &self.pools[pool as usize];
        pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publishers(&self) -> MutexGuard<'_, Publishers> {
        let publishers = self.publishers.lock();
        publishers.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's or a session's place, for its life.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    places: Arc<ConnectionPermits>,
    /// The trusted proxy whose connection it is.
    proxy: Option<IpAddr>,
    /// Who it is, once that is known.
    address: Option<IpAddr>,
    /// For whom it is counted among the connections.
    connection: Option<IpAddr>,
    /// Until it is served.
    pending: Option<(Pool, ShareTicket)>,
    /// Between two requests.
    idle: Option<ShareTicket>,
    /// Whether it is among the publishers.
    is_publisher: bool,
}

impl ConnectionPermit {
    fn of(places: &Arc<ConnectionPermits>) -> Self {
        Self {
            places: Arc::clone(places),
            proxy: None,
            address: None,
            connection: None,
            pending: None,
            idle: None,
            is_publisher: false,
        }
    }

    /// Counts the connection for whoever makes the request that has arrived: of a proxy's connection that is
    /// its client, who may be another one each time.
    pub(crate) fn charge(&mut self, address: IpAddr) -> Result<(), Rejected> {
        if self.address == Some(network(address)) {
            return match self.connection {
                Some(_) => Ok(()),
                // A session was counted in its stead.
                None => self.count(address),
            };
        }
        self.discharge();
        self.count(address)?;
        if let Some((pool, ticket)) = self.pending.take() {
            // Whoever was evicted meanwhile has no place, and ends.
            let returned = self.places.pool(pool).give_back(ticket);
            if let Some(Pending(evict)) = returned {
                self.wait(pool, evict);
            }
        }
        Ok(())
    }

    fn count(&mut self, address: IpAddr) -> Result<(), Rejected> {
        let address = network(address);
        if let Some(max) = self.places.per_ip {
            if !self.places.count(address, max.get()) {
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
            self.places.connections.give_back(address);
        }
    }

    /// Whose it is, and how that one stands. A proxy's own it is while no client is known.
    fn holder(&self) -> Option<(IpAddr, Standing)> {
        match (self.address, self.proxy) {
            (Some(address), _) => Some((address, self.places.standing(address))),
            (None, Some(proxy)) => Some((proxy, Standing::Proxy)),
            (None, None) => None,
        }
    }

    /// It waits to be served.
    fn wait(&mut self, pool: Pool, evict: Evict) {
        if let Some((address, standing)) = self.holder() {
            let ticket = self.places.take(pool, address, standing, evict);
            self.pending = Some((pool, ticket));
        }
    }

    /// The connection was served and waits for its next request: it gives way first. It goes on with
    /// [`wake`](Self::wake).
    pub(crate) fn rest(&mut self) {
        let Some((pool, ticket)) = self.pending.take() else {
            return;
        };
        let returned = self.places.pool(pool).give_back(ticket);
        // Whoever was evicted meanwhile ends.
        if let Some(Pending(evict)) = returned {
            self.rest_again(evict);
        }
    }

    /// The same for a connection that was [held](Self::hold).
    pub(crate) fn rest_again(&mut self, evict: Evict) {
        if self.proxy.is_some() {
            self.discharge();
        }
        if let Some((address, standing)) = self.holder() {
            let connection = self.connection.take();
            let idle = Idle { evict, connection };
            self.idle = Some(self.places.take_idle(address, standing, idle));
        }
    }

    /// The next request has begun; false when the connection had to give way, and ends.
    pub(crate) fn wake(&mut self) -> bool {
        let ticket = self.idle.take();
        let returned = ticket.and_then(|ticket| self.places.idle().give_back(ticket));
        let Some(Idle { evict, connection }) = returned else {
            return false;
        };
        self.connection = connection;
        self.wait(Pool::Http, evict);
        true
    }

    /// The connection carries a listener and cannot give way. When it has none any more, it may
    /// [rest](Self::rest_again) with what is returned.
    pub(crate) fn hold(&mut self) -> Option<Evict> {
        let (pool, ticket) = self.pending.take()?;
        let returned = self.places.pool(pool).give_back(ticket);
        returned.map(|Pending(evict)| evict)
    }

    /// The connection or session is a listener, and bounded as such from here on.
    pub(crate) fn settle(&mut self) {
        if let Some((pool, ticket)) = self.pending.take() {
            self.places.pool(pool).give_back(ticket);
        }
    }

    /// The same for a publisher, whose address is remembered.
    pub(crate) fn settle_publisher(&mut self) {
        self.settle();
        if let Some(address) = self.address
            && !self.is_publisher
        {
            self.is_publisher = true;
            self.places.publishers().came(address, Instant::now());
        }
    }

    /// A place for the session that this connection has asked for. Where connections are counted, the
    /// session is counted in the connection's stead, which is counted again if it asks for more.
    fn session(&mut self, address: IpAddr, evict: Evict) -> Self {
        let places = &self.places;
        let ticket = places.take(Pool::Session, address, places.standing(address), evict);
        let mut place = Self::of(places);
        place.address = Some(network(address));
        place.pending = Some((Pool::Session, ticket));
        place.connection = self.connection.take();
        place
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.settle();
        if let Some(ticket) = self.idle.take() {
            let returned = self.places.idle().give_back(ticket);
            self.connection = returned.and_then(|idle| idle.connection);
        }
        if let Some(address) = self.connection.take() {
            self.places.connections.give_back(address);
        }
        if let Some(address) = self.address
            && self.is_publisher
        {
            self.places.publishers().left(address, Instant::now());
        }
    }
}

/// A connection's place, shared by the requests on it and by the sessions that they open.
#[derive(Clone, Debug)]
pub(crate) struct Handover(Arc<Mutex<ConnectionPermit>>);

impl Handover {
    pub(crate) fn new(place: ConnectionPermit) -> Self {
        Self(Arc::new(Mutex::new(place)))
    }

    /// A place for a session of a peer at this address.
    pub(crate) fn session(&self, address: IpAddr, evict: Evict) -> ConnectionPermit {
        self.place().session(address, evict)
    }

    /// The place itself, with which whatever keeps the connection is done to it.
    pub(crate) fn place(&self) -> MutexGuard<'_, ConnectionPermit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place, for a listener that keeps the connection.
    pub(crate) fn into_permit(self, permit: ListenerPermit) -> Permit {
        match Arc::try_unwrap(self.0) {
            Ok(place) => {
                let place = place.into_inner().unwrap_or_else(PoisonError::into_inner);
                Permit::new((place, permit))
            }
            Err(shared) => Permit::new((shared, permit)),
        }
    }
}

/// How many each has. Whoever has none is not in it, so it is never larger than what it counts.
#[derive(Debug)]
struct Tally<K>(Mutex<HashMap<K, u32>>);

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Tally<K> {
    /// One more, unless `key` has `max` already.
    fn take(&self, key: K, max: u32) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key).or_insert(0);
        let granted = *count < max;
        if granted {
            *count += 1;
        }
        granted
    }

    fn give_back(&self, key: K) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
