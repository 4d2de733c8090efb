//! Limits on pending connections and sessions, listeners, joins per second and bandwidth, and the current pressure on the
//! server.
//!
//! Every permit is a value whose drop returns it.

use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::allowance::Allowances;
use crate::bucket::Bucket;
use crate::egress::Egress;
use crate::permits::{ConnectionPermit, ConnectionPermits, Evict, Pool};
use crate::pressure::{Pressure, Transport};
use crate::rejected::Rejected;
use crate::tally::{AddressShare, SharePlace};
use base::Lock;
use base::shares::network;

/// Configured limits; `None` is no limit.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// Maximum number of simultaneous listeners.
    pub listeners: Option<NonZeroU32>,
    /// Maximum number of simultaneous publishers, for whom connections are reserved.
    pub publishers: Option<NonZeroU32>,
    /// Maximum number of new listeners per second.
    pub joins_per_second: Option<NonZeroU32>,
    /// Maximum number of simultaneous connections from one address.
    pub per_ip: Option<NonZeroU32>,
    /// Rate in Mbit/s sent to listeners beyond which no more of them are admitted.
    pub egress_mbps: Option<NonZeroU64>,
}

/// All limits of the server; request a permit for each connection and listener.
#[derive(Debug)]
pub struct Limits {
    settings: Settings,
    permits: Arc<ConnectionPermits>,
    listeners: AtomicU64,
    /// Rate limit of joins, if one is configured.
    joins: Option<Joins>,
    egress: Egress,
    /// Load of the host and the workers.
    pub pressure: Pressure,
    /// Shares of viewers over HLS.
    pub viewers: AddressShare,
    /// Shares of HTTP/2 requests that are being answered.
    pub requests: AddressShare,
    /// Shares of connections that the request threads carry.
    pub carried: AddressShare,
}

/// Maximum number of HLS viewers of one address, who need no connection each: as many as a school or a provider's NAT has. If
/// listeners have a limit, the share is an eighth of it, and at least the lower number.
const VIEWERS_SHARE: u32 = 1_024;
const VIEWERS_SHARE_MIN: u32 = 64;

/// Maximum number of HTTP/2 requests of one address: its connections may be a thousand, each with sixteen requests. An HLS
/// viewer waits for two replies at a time.
const REQUESTS_SHARE: u32 = 4_096;

/// Maximum number of connections of one address that the request threads carry: two for each of its viewers. They are not
/// pending, and each may have some kilobytes unread.
const CARRIED_SHARE: u32 = 2 * VIEWERS_SHARE;

/// Returns the maximum number of HLS viewers of one address.
fn viewers_share(settings: &Settings) -> u32 {
    match (settings.per_ip, settings.listeners) {
        (Some(max), _) => max.get(),
        (None, Some(all)) => (all.get() / 8).clamp(VIEWERS_SHARE_MIN, VIEWERS_SHARE),
        (None, None) => VIEWERS_SHARE,
    }
}

/// Burst of joins that an address may take from the half that is kept for addresses with few joins, and the time until one more
/// is allowed.
const MODEST_AT_ONCE: u32 = 4;
const MODEST_REFILL: Duration = Duration::from_secs(1);

/// Limit on joins per second. An address that joins again and again takes its joins from one half only, so that the other half
/// is left for other addresses.
#[derive(Debug)]
struct Joins {
    bucket: Lock<Bucket>,
    modest: Allowances<IpAddr>,
}

impl Joins {
    fn new(rate: u32, now: Instant) -> Self {
        Self {
            bucket: Lock::new(Bucket::new(rate, now)),
            modest: Allowances::new(MODEST_AT_ONCE, MODEST_REFILL),
        }
    }

    fn take(&self, address: IpAddr, now: Instant) -> bool {
        let is_modest = self.modest.take(network(address), now);
        let mut bucket = self.bucket.lock();
        match is_modest {
            true => bucket.take(now),
            false => bucket.take_from_upper_half(now),
        }
    }
}

impl Limits {
    /// Creates the limits of a process that may have `descriptors_max` descriptors.
    pub fn new(settings: Settings, descriptors_max: Option<u64>, now: Instant) -> Arc<Self> {
        let joins = settings.joins_per_second;
        let joins = joins.map(|rate| Joins::new(rate.get(), now));
        Arc::new(Self {
            permits: ConnectionPermits::new(&settings, descriptors_max),
            viewers: AddressShare::new(viewers_share(&settings)),
            requests: AddressShare::new(REQUESTS_SHARE),
            carried: AddressShare::new(CARRIED_SHARE),
            settings,
            listeners: AtomicU64::new(0),
            joins,
            egress: Egress::default(),
            pressure: Pressure::new(descriptors_max),
        })
    }

    /// Returns a permit for a connection accepted from `address`, which may be a trusted proxy's: the proxy's clients are
    /// counted when the head has named them. `evict` ends the connection while it is pending.
    pub fn connection(
        &self,
        pool: Pool,
        address: IpAddr,
        is_proxy: bool,
        evict: Evict,
    ) -> Result<ConnectionPermit, Rejected> {
        self.pressure.accepted();
        if self.pressure.refuses_connections() && !self.permits.evict_idle() {
            return Err(Rejected::Descriptors);
        }
        self.permits.connection(pool, address, is_proxy, evict)
    }

    /// Returns a permit for a request of `address` on a connection that it shares with other clients.
    pub fn counted(&self, address: IpAddr) -> Result<ConnectionPermit, Rejected> {
        self.permits.counted(address)
    }

    /// Returns a permit for a listener at `address` that is served over its own connection.
    pub fn listener(
        self: &Arc<Self>,
        address: IpAddr,
        now: Instant,
    ) -> Result<ListenerPermit, Rejected> {
        self.listener_by(Transport::Tcp, address, now)
    }

    /// Returns a permit for an HLS viewer at `address`, who has no connection to be counted by.
    pub fn viewer(
        self: &Arc<Self>,
        address: IpAddr,
        now: Instant,
    ) -> Result<(ListenerPermit, SharePlace), Rejected> {
        let place = self.viewers.take(address).ok_or(Rejected::Viewers)?;
        Ok((self.listener(address, now)?, place))
    }

    /// Returns a permit for a listener at `address` that is served by this transport.
    pub fn listener_by(
        self: &Arc<Self>,
        transport: Transport,
        address: IpAddr,
        now: Instant,
    ) -> Result<ListenerPermit, Rejected> {
        if let Some(reason) = self.pressure.refusal(transport) {
            return Err(reason);
        }
        let permit = ListenerPermit(Arc::clone(self));
        let before = self.listeners.fetch_add(1, Ordering::Relaxed);
        if let Some(max) = self.settings.listeners
            && before >= u64::from(max.get())
        {
            return Err(Rejected::Listeners);
        }
        if let Some(max) = self.settings.egress_mbps
            && self.egress.expected(before + 1) > max.get().saturating_mul(1_000_000)
        {
            return Err(Rejected::Egress);
        }
        match &self.joins {
            Some(joins) if !joins.take(address, now) => Err(Rejected::Joins),
            _ => Ok(permit),
        }
    }

    /// Stores the egress rate, and a stream's average rate, which stands in for a listener's while there are no listeners.
    pub fn measured_egress(&self, bits_per_second: u64, stream_bits: u64) {
        self.egress
            .measured(bits_per_second, stream_bits, self.listeners_now());
    }

    /// Returns the number of listeners that hold a permit.
    pub fn listeners_now(&self) -> u64 {
        self.listeners.load(Ordering::Relaxed)
    }

    /// Returns the number of connections that are neither sources nor listeners.
    pub fn pending(&self) -> u64 {
        let connections = [Pool::Http, Pool::Rtmp].map(|pool| self.permits.pending(pool));
        connections.into_iter().sum::<usize>() as u64
    }

    /// Returns the number of kept-alive connections that wait for their next request.
    pub fn idle(&self) -> u64 {
        self.permits.idle_now() as u64
    }

    /// Returns the number of WebRTC sessions whose peers have not connected.
    pub fn pending_sessions(&self) -> u64 {
        self.permits.pending(Pool::Session) as u64
    }
}

/// Permit of a listener, held as long as it listens.
#[derive(Debug)]
pub struct ListenerPermit(Arc<Limits>);

impl Drop for ListenerPermit {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pressure::Kind;

    fn limits(change: impl FnOnce(&mut Settings)) -> Arc<Limits> {
        let mut settings = Settings::default();
        change(&mut settings);
        Limits::new(settings, None, Instant::now())
    }

    fn connect(limits: &Limits) -> Result<ConnectionPermit, Rejected> {
        limits.connection(Pool::Http, HERE, false, Box::new(|_| {}))
    }

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn listeners_are_counted_while_they_listen() {
        let limits = limits(|settings| settings.listeners = NonZeroU32::new(1));
        let now = Instant::now();
        let permit = limits.listener(HERE, now).expect("a permit");
        assert_eq!(limits.listener(HERE, now).err(), Some(Rejected::Listeners));
        assert_eq!(limits.listener(HERE, now).err(), Some(Rejected::Listeners));
        drop(permit);
        assert!(limits.listener(HERE, now).is_ok());
    }

    #[test]
    fn viewers_of_one_address_leave_places_to_others() {
        let now = Instant::now();
        let other = IpAddr::from([198, 51, 100, 1]);
        let let_in = |listeners, per_ip| {
            let limits = limits(|settings| {
                settings.listeners = NonZeroU32::new(listeners);
                settings.per_ip = NonZeroU32::new(per_ip);
            });
            let watching = (0..2_000).map_while(|_| limits.viewer(HERE, now).ok());
            let watching: Vec<_> = watching.collect();
            assert!(limits.viewer(other, now).is_ok());
            let count = watching.len();
            drop(watching);
            assert!(limits.viewer(HERE, now).is_ok(), "they have left");
            count
        };
        for (listeners, per_ip, expected) in [
            (200, 10, 10),
            (200, 0, 64),
            (4_000, 0, 500),
            // The 500 behind one address all watch.
            (0, 0, 1_024),
        ] {
            let found = let_in(listeners, per_ip);
            assert_eq!(found, expected, "{listeners}, {per_ip}");
        }
    }

    #[test]
    fn joins_flow_at_their_rate() {
        let limits = limits(|settings| settings.joins_per_second = NonZeroU32::new(10));
        let start = Instant::now();
        let joins = |at| {
            let from = (1..=100).map(|host| IpAddr::from([192, 0, 2, host]));
            from.filter(|from| limits.listener(*from, at).is_ok())
                .count()
        };
        assert_eq!(joins(start), 10);
        assert_eq!(joins(start + Duration::from_millis(500)), 5);
        assert_eq!(joins(start + Duration::from_secs(60)), 10);
        assert_eq!(joins(start), 0, "a clock that steps back grants nothing");
    }

    #[test]
    fn one_address_does_not_use_up_the_joins() {
        let limits = limits(|settings| settings.joins_per_second = NonZeroU32::new(20));
        let start = Instant::now();
        let flood = |at| {
            let joins = (0..1_000).filter(|_| limits.listener(HERE, at).is_ok());
            joins.count()
        };
        assert_eq!(flood(start), 10, "one half");
        for host in 1..=5 {
            let modest = IpAddr::from([192, 0, 2, host]);
            assert!(limits.listener(modest, start).is_ok(), "{host}");
        }
        let seconds = (1..=10).map(|second| start + Duration::from_secs(second));
        let alone: usize = seconds.map(flood).sum();
        assert!(alone >= 10 * 10, "{alone}: what others leave is for it");
    }

    #[test]
    fn the_lowest_rate_is_a_rate() {
        let limits = limits(|settings| settings.joins_per_second = NonZeroU32::new(1));
        let start = Instant::now();
        let seconds = (0..60).map(|second| start + Duration::from_secs(second));
        let joined = seconds.filter(|at| limits.listener(HERE, *at).is_ok());
        assert_eq!(joined.count(), 60);
    }

    #[test]
    fn bandwidth_keeps_new_listeners_out() {
        let limits = limits(|settings| settings.egress_mbps = NonZeroU64::new(10));
        let join = || limits.listener(HERE, Instant::now());
        limits.measured_egress(9_000_000, 1_000_000);
        let first = join().expect("it fits in");
        assert_eq!(join().err(), Some(Rejected::Egress), "it counts already");
        limits.measured_egress(9_999_999, 1_000_000);
        assert_eq!(join().err(), Some(Rejected::Egress));
        limits.measured_egress(4_000_000, 1_000_000);
        let second = join().expect("one like the first fits in");
        assert_eq!(join().err(), Some(Rejected::Egress), "a third does not");
        limits.measured_egress(5_000_000, 1_000_000);
        // The second may cost as much as the first.
        assert_eq!(join().err(), Some(Rejected::Egress));
        limits.measured_egress(6_000_000, 1_000_000);
        let third = join().expect("it costs less");
        assert_eq!(join().err(), Some(Rejected::Egress));
        drop((first, second, third));
    }

    #[test]
    fn a_pressed_server_lets_no_listener_in() {
        let (limits, now) = (limits(|_| {}), Instant::now());
        let present = limits.listener(HERE, now).expect("a permit");
        limits.pressure.note(Kind::Memory, Some(1.0), now);
        assert_eq!(limits.listener(HERE, now).err(), Some(Rejected::Memory));
        assert!(connect(&limits).is_ok(), "it may ask");
        assert_eq!(limits.listeners_now(), 1, "nothing was kept");
        drop(present);
    }

    #[test]
    fn full_webrtc_workers_let_no_viewer_in_and_keep_those_they_have() {
        let (limits, start) = (limits(|_| {}), Instant::now());
        let join = |now| limits.listener_by(Transport::Webrtc, HERE, now);
        let present = join(start).expect("a permit");
        let later = start + Duration::from_secs(1);
        for now in [start, later] {
            limits.pressure.note(Kind::WebrtcTurn, Some(1.0), now);
        }
        assert_eq!(join(later).err(), Some(Rejected::WebrtcTurn));
        assert_eq!(limits.listeners_now(), 1, "it stays");
        assert!(limits.listener(HERE, later).is_ok(), "others serve it");
        drop(present);
        limits.pressure.note(Kind::WebrtcTurn, Some(0.8), later);
        assert!(join(later).is_ok());
    }

    #[test]
    fn the_last_descriptors_are_for_no_connection() {
        let limits = Limits::new(Settings::default(), Some(100), Instant::now());
        let ask = || connect(&limits).err();
        let let_in = (0..100).filter(|_| ask().is_none()).count();
        assert_eq!(let_in, 92);
        assert_eq!(ask(), Some(Rejected::Descriptors));
        let join = || limits.listener(HERE, Instant::now()).err();
        assert_eq!(join(), Some(Rejected::Descriptors));
        limits.pressure.count_descriptors(|| Some(68));
        assert_eq!(join(), None);
        assert_eq!(ask(), None, "it is counted");
        assert_eq!(join(), Some(Rejected::Descriptors));
    }
}
