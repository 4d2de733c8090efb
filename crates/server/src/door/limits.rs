//! How much is too much: connections per address, connections that have not said what they want,
//! listeners, joins per second, and bandwidth; and whatever presses on the server just now.
//!
//! Every place that is taken is a value whose drop gives it back.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::bucket::Bucket;
use super::egress::Egress;
use super::pressure::Pressure;
use super::rejected::Rejected;
use crate::address::network;
use crate::config;

/// The port at which a connection is pending: neither a source nor a listener.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Pool {
    Http,
    Rtmp,
}

impl Pool {
    const COUNT: usize = 2;

    /// Pending connections of all addresses together. Each is gone when its deadline passes.
    ///
    /// On an HTTP port their heads have not arrived, or they wait for a page or for the gate. Each
    /// holds a head of at most 16 KiB twice, as it arrived and as it was read, in buffers that double
    /// as they grow, so 64 KiB; TLS adds about as much for its records. This bounds them at 512 MiB
    /// if all of them are as bad as they can be. Over RTMP each may hold 256 KiB before it has shown
    /// a key, which makes 256 MiB.
    pub(crate) const fn max(self) -> u64 {
        match self {
            Self::Http => 4_096,
            Self::Rtmp => 1_024,
        }
    }

    /// Pending connections that one address, or one IPv6 network, may have: a fraction of the whole,
    /// so that nobody alone shuts the door for everybody.
    ///
    /// A listener is pending for as long as its handshake and head take, so at 200 ms each, 1,024
    /// let five thousand in each second from behind one address: a proxy or a provider's NAT after
    /// an outage, or a load test on loopback, which is not exempt. A publisher's RTMP commands take
    /// some round trips more, and an address has few.
    const fn share(self) -> u32 {
        match self {
            Self::Http => 1_024,
            Self::Rtmp => 64,
        }
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Limits {
    settings: config::Limits,
    connections: Tally<IpAddr>,
    pending: [AtomicU64; Pool::COUNT],
    shares: Tally<(Pool, IpAddr)>,
    listeners: AtomicU64,
    /// Where joins have a rate.
    joins: Option<Mutex<Bucket>>,
    egress: Egress,
    pub(crate) pressure: Pressure,
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

impl Limits {
    /// For a process that may have so many descriptors.
    pub(crate) fn new(
        settings: config::Limits,
        descriptors_max: Option<u64>,
        now: Instant,
    ) -> Arc<Self> {
        let joins = settings.joins_per_second;
        let joins = joins.map(|rate| Mutex::new(Bucket::new(rate.get(), now)));
        Arc::new(Self {
            settings,
            connections: Tally::default(),
            shares: Tally::default(),
            pending: Default::default(),
            listeners: AtomicU64::new(0),
            joins,
            egress: Egress::default(),
            pressure: Pressure::new(descriptors_max),
        })
    }

    /// A place for a connection that was accepted. `address` is `None` for a trusted proxy, whose
    /// clients are counted when the head has named them.
    pub(crate) fn connection(
        self: &Arc<Self>,
        pool: Pool,
        address: Option<IpAddr>,
    ) -> Result<Place, Rejected> {
        self.pressure.accepted();
        if self.pressure.refuses_connections() {
            return Err(Rejected::Descriptors);
        }
        let mut place = Place {
            limits: Arc::clone(self),
            pool,
            charged: false,
            connection: None,
            share: None,
            pending: true,
        };
        if self.pending[pool as usize].fetch_add(1, Ordering::Relaxed) >= pool.max() {
            return Err(Rejected::Pending);
        }
        if let Some(address) = address {
            place.charge(address)?;
        }
        Ok(place)
    }

    /// A place for a listener.
    pub(crate) fn listener(self: &Arc<Self>, now: Instant) -> Result<Seat, Rejected> {
        if let Some(reason) = self.pressure.refusal() {
            return Err(reason);
        }
        let seat = Seat(Arc::clone(self));
        let before = self.listeners.fetch_add(1, Ordering::Relaxed);
        if self
            .settings
            .listeners
            .is_some_and(|max| before >= u64::from(max.get()))
        {
            return Err(Rejected::Listeners);
        }
        if let Some(max) = self.settings.egress_mbps
            && self.egress.expected(before + 1) > max.get().saturating_mul(1_000_000)
        {
            return Err(Rejected::Egress);
        }
        let may_join = self.joins.as_ref().is_none_or(|joins| {
            let mut joins = joins.lock().unwrap_or_else(PoisonError::into_inner);
            joins.take(now)
        });
        if may_join {
            Ok(seat)
        } else {
            Err(Rejected::Joins)
        }
    }

    /// Notes how much is being sent, and what a stream has on average, for as long as no listener
    /// tells it.
    pub(crate) fn measured_egress(&self, bits_per_second: u64, stream_bits: u64) {
        self.egress
            .measured(bits_per_second, stream_bits, self.seated());
    }

    /// Listeners now.
    pub(crate) fn seated(&self) -> u64 {
        self.listeners.load(Ordering::Relaxed)
    }

    /// Connections that are neither sources nor listeners.
    pub(crate) fn pending(&self) -> u64 {
        self.pending
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }
}

/// A connection's place, for its life.
#[derive(Debug)]
pub(crate) struct Place {
    limits: Arc<Limits>,
    pool: Pool,
    charged: bool,
    /// For whom it is counted among the connections.
    connection: Option<IpAddr>,
    /// For whom it is counted among the pending.
    share: Option<(Pool, IpAddr)>,
    pending: bool,
}

impl Place {
    /// Counts the connection for an address. It is counted for one address only.
    pub(crate) fn charge(&mut self, address: IpAddr) -> Result<(), Rejected> {
        if self.charged {
            return Ok(());
        }
        let (address, limits) = (network(address), &self.limits);
        if let Some(max) = limits.settings.per_ip {
            if !limits.connections.take(address, max.get()) {
                return Err(Rejected::Address);
            }
            self.connection = Some(address);
        }
        let share = (self.pool, address);
        if !limits.shares.take(share, self.pool.share()) {
            return Err(Rejected::PendingShare);
        }
        (self.share, self.charged) = (Some(share), true);
        Ok(())
    }

    /// The connection is a source or a listener, and bounded as such from here on.
    pub(crate) fn settle(&mut self) {
        if std::mem::take(&mut self.pending) {
            self.limits.pending[self.pool as usize].fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(share) = self.share.take() {
            self.limits.shares.give_back(share);
        }
    }
}

/// A connection's place, for whatever stays when the connection is gone to take.
#[derive(Clone, Debug)]
pub(crate) struct Handover(Arc<Mutex<Option<Place>>>);

impl Handover {
    pub(crate) fn new(place: Place) -> Self {
        Self(Arc::new(Mutex::new(Some(place))))
    }

    /// The place, for the first who asks.
    pub(crate) fn take(&self) -> Option<Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.settle();
        if let Some(address) = self.connection.take() {
            self.limits.connections.give_back(address);
        }
    }
}

/// A listener's place, for as long as it listens.
#[derive(Debug)]
pub(crate) struct Seat(Arc<Limits>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroU64};
    use std::time::Duration;

    use super::*;
    use crate::door::pressure::Kind;

    fn limits(change: impl FnOnce(&mut config::Limits)) -> Arc<Limits> {
        let mut settings = config::Limits::default();
        change(&mut settings);
        Limits::new(settings, None, Instant::now())
    }

    const HTTP: Pool = Pool::Http;
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn an_address_gets_its_places_back() {
        let limits = limits(|settings| settings.per_ip = NonZeroU32::new(2));
        let first = limits.connection(HTTP, Some(HERE)).expect("a place");
        let _second = limits.connection(HTTP, Some(HERE)).expect("a place");
        assert_eq!(
            limits.connection(HTTP, Some(HERE)).err(),
            Some(Rejected::Address)
        );
        assert!(
            limits
                .connection(HTTP, Some(IpAddr::from([192, 0, 2, 1])))
                .is_ok()
        );
        drop(first);
        let mut proxied = limits
            .connection(HTTP, None)
            .expect("a proxy is not counted");
        assert_eq!(proxied.charge(HERE), Ok(()));
        assert_eq!(
            limits.connection(HTTP, Some(HERE)).err(),
            Some(Rejected::Address)
        );
        drop(proxied);
        assert!(limits.connection(HTTP, Some(HERE)).is_ok());
        assert_eq!(limits.pending(), 1, "the second is still waiting");
    }

    #[test]
    fn an_ipv6_network_has_the_places_of_one_address() {
        let limits = limits(|settings| settings.per_ip = NonZeroU32::new(1));
        let ask = |text: &str| limits.connection(HTTP, Some(text.parse().expect("an address")));
        let _first = ask("2001:db8:0:1::1").expect("a place");
        assert_eq!(ask("2001:db8:0:1:ffff::2").err(), Some(Rejected::Address));
        assert!(ask("2001:db8:0:2::1").is_ok());
    }

    #[test]
    fn one_address_cannot_take_all_pending_places() {
        for pool in [Pool::Http, Pool::Rtmp] {
            let limits = limits(|_| {});
            let mut all: Vec<_> = (0..pool.share())
                .map(|_| limits.connection(pool, Some(HERE)).expect("a place"))
                .collect();
            let next = || limits.connection(pool, Some(HERE)).err();
            assert_eq!(next(), Some(Rejected::PendingShare));
            let elsewhere = IpAddr::from([192, 0, 2, 1]);
            assert!(limits.connection(pool, Some(elsewhere)).is_ok());
            let mut proxied = limits.connection(pool, None).expect("a proxy's own");
            assert_eq!(proxied.charge(HERE), Err(Rejected::PendingShare));
            drop(proxied);
            assert_eq!(limits.pending(), all.len() as u64, "nothing was kept");

            all[0].settle();
            let another = limits.connection(pool, Some(HERE)).expect("a place");
            all[0].settle();
            assert_eq!(next(), Some(Rejected::PendingShare), "given back once");
            drop((all, another));
            assert!(limits.shares.0.lock().expect("no panic").is_empty());
        }
    }

    #[test]
    fn silent_connections_are_bounded() {
        let limits = limits(|_| {});
        let mut all: Vec<_> = (0..HTTP.max())
            .map(|_| limits.connection(HTTP, None).expect("a place"))
            .collect();
        assert_eq!(limits.connection(HTTP, None).err(), Some(Rejected::Pending));
        all[0].settle();
        assert!(limits.connection(HTTP, None).is_ok());
        drop(all);
        assert_eq!(limits.pending(), 0);
    }

    #[test]
    fn listeners_are_counted_while_they_listen() {
        let limits = limits(|settings| settings.listeners = NonZeroU32::new(1));
        let now = Instant::now();
        let seat = limits.listener(now).expect("a seat");
        assert_eq!(limits.listener(now).err(), Some(Rejected::Listeners));
        assert_eq!(limits.listener(now).err(), Some(Rejected::Listeners));
        drop(seat);
        assert!(limits.listener(now).is_ok());
    }

    #[test]
    fn joins_flow_at_their_rate() {
        let limits = limits(|settings| settings.joins_per_second = NonZeroU32::new(10));
        let start = Instant::now();
        let joins = |at| (0..100).filter(|_| limits.listener(at).is_ok()).count();
        assert_eq!(joins(start), 10);
        assert_eq!(joins(start + Duration::from_millis(500)), 5);
        assert_eq!(joins(start + Duration::from_secs(60)), 10);
        assert_eq!(joins(start), 0, "a clock that steps back grants nothing");
    }

    #[test]
    fn bandwidth_keeps_newcomers_out() {
        let limits = limits(|settings| settings.egress_mbps = NonZeroU64::new(10));
        let join = || limits.listener(Instant::now());
        limits.measured_egress(9_000_000, 1_000_000);
        let first = join().expect("it fits in");
        assert_eq!(join().err(), Some(Rejected::Egress), "it counts already");
        limits.measured_egress(9_999_999, 1_000_000);
        assert_eq!(join().err(), Some(Rejected::Egress));
        limits.measured_egress(4_000_000, 1_000_000);
        let second = join().expect("one like the first fits in");
        assert_eq!(join().err(), Some(Rejected::Egress), "a third does not");
        limits.measured_egress(5_000_000, 1_000_000);
        let third = join().expect("the second has not told yet what it costs");
        assert_eq!(join().err(), Some(Rejected::Egress));
        drop((first, second, third));
    }

    #[test]
    fn a_pressed_server_lets_no_listener_in() {
        let (limits, now) = (limits(|_| {}), Instant::now());
        let present = limits.listener(now).expect("a seat");
        limits.pressure.note(Kind::Memory, Some(1.0), now);
        assert_eq!(limits.listener(now).err(), Some(Rejected::Memory));
        assert!(limits.connection(HTTP, Some(HERE)).is_ok(), "it may ask");
        assert_eq!(limits.seated(), 1, "nothing was kept");
        drop(present);
    }

    #[test]
    fn the_last_descriptors_are_nobodys() {
        let limits = Limits::new(config::Limits::default(), Some(100), Instant::now());
        let ask = || limits.connection(HTTP, None).err();
        let let_in = (0..100).filter(|_| ask().is_none()).count();
        assert_eq!(let_in, 92);
        assert_eq!(ask(), Some(Rejected::Descriptors));
        let join = || limits.listener(Instant::now()).err();
        assert_eq!(join(), Some(Rejected::Descriptors));
        limits.pressure.count_descriptors(|| Some(68));
        assert_eq!(join(), None);
        assert_eq!(ask(), None, "it is counted");
        assert_eq!(join(), Some(Rejected::Descriptors));
    }
}
