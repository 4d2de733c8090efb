use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

const HTTP: Pool = Pool::Http;

fn address(site: u8, host: u8) -> IpAddr {
    IpAddr::from([192, 0, site, host])
}

/// Connection permits, and a count of evictions.
struct Connections {
    permits: Arc<ConnectionPermits>,
    evicted: Arc<AtomicU64>,
}

impl Connections {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        Self {
            permits: ConnectionPermits::new(&settings, None),
            evicted: Arc::default(),
        }
    }

    fn evict(&self) -> Evict {
        let evicted = Arc::clone(&self.evicted);
        Box::new(move |_| {
            evicted.fetch_add(1, Ordering::Relaxed);
        })
    }

    fn ask(&self, pool: Pool, address: IpAddr) -> Result<ConnectionPermit, Rejected> {
        self.permits.connection(pool, address, false, self.evict())
    }

    fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Permits for `count` connections of this address.
    fn asked(&self, pool: Pool, address: IpAddr, count: usize) -> Vec<ConnectionPermit> {
        let permits = (0..count).map(|_| self.ask(pool, address).expect("a permit"));
        permits.collect()
    }

    /// Permits for as many unknown addresses as the pool of HTTP has.
    fn strangers(&self, pool: Pool) -> Vec<ConnectionPermit> {
        let hosts = (0..4_096_u32).map(|number| 0x0a00_0000 | number << 8);
        let from = hosts.map(|host| IpAddr::from(host.to_be_bytes()));
        from.map(|from| self.ask(pool, from).expect("a permit"))
            .collect()
    }

    fn pending(&self, pool: Pool) -> usize {
        self.permits.pending(pool)
    }

    fn idle(&self) -> usize {
        self.permits.idle_now()
    }

    fn held_by(&self, pool: Pool, address: IpAddr) -> usize {
        self.permits.pool(pool).held_by(address)
    }
}

#[test]
fn an_address_gets_its_permits_back() {
    let connections = Connections::new(|settings| settings.per_ip = NonZeroU32::new(2));
    let here = address(2, 1);
    let first = connections.ask(HTTP, here).expect("a permit");
    let _second = connections.ask(HTTP, here).expect("a permit");
    assert_eq!(connections.ask(HTTP, here).err(), Some(Rejected::Address));
    assert!(connections.ask(HTTP, address(2, 2)).is_ok());
    drop(first);
    let mut proxied = connections
        .permits
        .connection(HTTP, address(9, 9), true, connections.evict())
        .expect("a proxy is not counted");
    assert_eq!(proxied.charge(here), Ok(()));
    assert_eq!(connections.ask(HTTP, here).err(), Some(Rejected::Address));
    assert_eq!(connections.held_by(HTTP, address(9, 9)), 0, "its client is");
    drop(proxied);
    assert!(connections.ask(HTTP, here).is_ok());
    assert_eq!(connections.pending(HTTP), 1, "the second still waits");
}

#[test]
fn an_ipv6_network_has_the_permits_of_one_address() {
    let connections = Connections::new(|settings| settings.per_ip = NonZeroU32::new(1));
    let ask = |text: &str| connections.ask(HTTP, text.parse().expect("an address"));
    let _first = ask("2001:db8:0:1::1").expect("a permit");
    assert_eq!(ask("2001:db8:0:1:ffff::2").err(), Some(Rejected::Address));
    assert!(ask("2001:db8:0:2::1").is_ok());
}

#[test]
fn beyond_its_share_an_address_evicts_itself() {
    for (pool, share) in [(Pool::Http, 1_024), (Pool::Rtmp, 64)] {
        let connections = Connections::new(|_| {});
        let (here, elsewhere) = (address(2, 1), address(3, 1));
        let honest = connections.ask(pool, elsewhere).expect("a permit");
        let mut all = connections.asked(pool, here, 2 * share);
        assert_eq!(connections.held_by(pool, here), share);
        assert_eq!(connections.held_by(pool, elsewhere), 1);
        assert_eq!(connections.evicted(), share as u64);
        all[0].settle();
        assert_eq!(connections.held_by(pool, here), share, "it had none");
        all[share].settle();
        all[share].settle();
        let held = connections.held_by(pool, here);
        assert_eq!(held, share - 1, "given back once");
        drop((all, honest));
        assert_eq!(connections.pending(pool), 0);
    }
}

#[test]
fn few_addresses_do_not_keep_another_out() {
    for (pool, attackers) in [(Pool::Http, 4), (Pool::Rtmp, 16)] {
        let connections = Connections::new(|_| {});
        let max = pool.bounds(&Settings::default(), None).max;
        let mut all = Vec::new();
        for number in 0..2 * max {
            let from = address(2, (number % attackers) as u8);
            all.push(connections.ask(pool, from).expect("a permit"));
        }
        let before = connections.evicted();
        let honest = connections.ask(pool, address(2, 200)).expect("a permit");
        assert_eq!(connections.evicted(), before + 1);
        assert_eq!(connections.pending(pool), max);
        all.extend(connections.asked(pool, address(2, 1), max));
        assert_eq!(connections.held_by(pool, address(2, 200)), 1, "it stays");
        drop(honest);
    }
}

#[test]
fn networks_of_one_ipv6_site_do_not_keep_another_out() {
    let connections = Connections::new(|_| {});
    // A thousand networks hold four permits each, an honest one holds eight.
    let honest: IpAddr = "2001:db8:1::1".parse().expect("an address");
    let mut all = connections.asked(HTTP, honest, 8);
    for number in 0..8_000_u16 {
        let network = number % 1_024;
        let from = format!("2001:db8:0:{network:x}::1");
        let from = from.parse().expect("an address");
        all.push(connections.ask(HTTP, from).expect("a permit"));
    }
    assert_eq!(connections.pending(HTTP), 4_096);
    assert_eq!(connections.held_by(HTTP, honest), 8);
}

#[test]
fn a_publishers_address_comes_back_through_any_crowd() {
    let connections = Connections::new(|_| {});
    let studio = address(2, 1);
    let mut publisher = connections.ask(Pool::Rtmp, studio).expect("a permit");
    publisher.settle_publisher();
    drop(publisher);
    let _again = connections.ask(Pool::Rtmp, studio).expect("a permit");
    // As many addresses as there are permits, and more: none has many.
    let _all = connections.strangers(Pool::Rtmp);
    assert_eq!(connections.held_by(Pool::Rtmp, studio), 1);
    assert_eq!(connections.pending(Pool::Rtmp), 1_024);
}

#[test]
fn a_session_has_a_permit_of_its_own() {
    let connections = Connections::new(|settings| settings.per_ip = NonZeroU32::new(1));
    let here = address(2, 1);
    let permit = connections.ask(HTTP, here).expect("a permit");
    let handover = Handover::new(permit);
    let mut session = handover.session(here, connections.evict());
    let pending = |pool| connections.pending(pool);
    assert_eq!((pending(HTTP), pending(Pool::Session)), (1, 1));
    drop(handover);
    assert_eq!((pending(HTTP), pending(Pool::Session)), (0, 1));
    // The session is counted in the connection's stead.
    assert_eq!(connections.ask(HTTP, here).err(), Some(Rejected::Address));
    session.settle();
    assert_eq!(pending(Pool::Session), 0);
    drop(session);
    assert!(connections.ask(HTTP, here).is_ok());
}

#[test]
fn idle_connections_give_way_first_and_cost_no_permit() {
    let connections = Connections::new(|_| {});
    let (here, there) = (address(2, 1), address(3, 1));
    let mut idle = connections.asked(HTTP, here, IDLE_SHARE);
    idle.iter_mut().for_each(ConnectionPermit::rest);
    assert_eq!((connections.pending(HTTP), connections.idle()), (0, 640));
    // Each idle connection goes before the first of them.
    let strangers = connections.strangers(HTTP);
    assert_eq!((connections.pending(HTTP), connections.idle()), (4_096, 0));
    assert_eq!(connections.evicted(), 640);
    assert!(idle.iter_mut().all(|permit| !permit.wake()), "they end");
    // With the other permits returned, connections can become idle and continue.
    let mut late = strangers.into_iter().next_back().expect("a stranger");
    let mut latest = connections.ask(HTTP, there).expect("a permit");
    latest.rest();
    late.rest();
    assert!(late.wake() && latest.wake());
    assert_eq!(connections.pending(HTTP), 2);
}

#[test]
fn an_idle_connection_is_counted_until_its_address_needs_it() {
    let connections = Connections::new(|settings| settings.per_ip = NonZeroU32::new(2));
    let here = address(2, 1);
    let mut first = connections.ask(HTTP, here).expect("a permit");
    let mut second = connections.ask(HTTP, here).expect("a permit");
    first.rest();
    second.rest();
    let third = connections.ask(HTTP, here).expect("the oldest gives way");
    assert!(!first.wake() && second.wake());
    assert_eq!(connections.ask(HTTP, here).err(), Some(Rejected::Address));
    drop(first);
    // It had given its count already.
    assert_eq!(connections.ask(HTTP, here).err(), Some(Rejected::Address));
    second.rest();
    drop(second);
    let _fourth = connections.ask(HTTP, here).expect("a permit");
    assert_eq!(connections.idle(), 0);
    drop(third);
    assert_eq!(connections.evicted(), 1);
}

#[test]
fn a_proxys_connection_is_its_own_between_requests() {
    let connections = Connections::new(|settings| settings.per_ip = NonZeroU32::new(1));
    let (proxy, one, other) = (address(9, 9), address(2, 1), address(3, 1));
    let permits = &connections.permits;
    let connection = permits.connection(HTTP, proxy, true, connections.evict());
    let mut proxied = connection.expect("a permit");
    assert_eq!(proxied.charge(one), Ok(()));
    assert_eq!(connections.ask(HTTP, one).err(), Some(Rejected::Address));
    // The next request came with the first, from another client.
    assert_eq!(proxied.charge(other), Ok(()));
    let direct = connections.ask(HTTP, one).expect("a permit");
    proxied.rest();
    assert!(connections.ask(HTTP, other).is_ok());
    assert!(proxied.wake());
    assert_eq!(connections.held_by(HTTP, proxy), 1);
    assert_eq!(proxied.charge(one), Err(Rejected::Address));
    drop((proxied, direct));
    assert!(connections.ask(HTTP, one).is_ok());
    assert_eq!(permits.pending(HTTP), 0);
}

#[test]
fn a_connection_that_opened_a_session_is_counted_again_for_the_next_request() {
    let connections = Connections::new(|settings| settings.per_ip = NonZeroU32::new(2));
    let here = address(2, 1);
    let handover = Handover::new(connections.ask(HTTP, here).expect("a permit"));
    let session = handover.session(here, connections.evict());
    handover.permit().rest();
    assert!(handover.permit().wake());
    assert_eq!(handover.permit().charge(here), Ok(()));
    assert_eq!(connections.ask(HTTP, here).err(), Some(Rejected::Address));
    drop(session);
    assert!(connections.ask(HTTP, here).is_ok());
}

#[test]
fn pending_connections_leave_descriptors_to_others() {
    assert_eq!(connections(4_096, None), 4_096);
    assert_eq!(connections(4_096, Some(1 << 20)), 4_096);
    assert_eq!(connections(4_096, Some(4_096)), 1_024);
    assert_eq!(connections(4_096, Some(100)), 256);
}

#[test]
fn sessions_that_wait_leave_permits_to_others() {
    assert_eq!(sessions(None), (2_048, 1_024));
    assert_eq!(sessions(NonZeroU32::new(100)), (50, 12));
    assert_eq!(sessions(NonZeroU32::new(1)), (1, 1));
    assert_eq!(sessions(NonZeroU32::new(1_000_000)), (2_048, 1_024));
}
