//! A bounded number of places that peers compete for, shared out by address.
//!
//! A new item always gets a place. When there are too many, the oldest item of the address that holds the
//! most is evicted, so a flood takes places from its own address and keeps no other address out.
//!
//! Addresses are weighed at two levels: first the sites (`site`), then the addresses within the heaviest one.
//! So the many addresses of one owner (an IPv6 site has 65,536 networks) weigh as one. Among equals the one
//! with the oldest item gives way, whatever its address is.
//!
//! Invariants: at most `max` items, at most `share` of one address (except a proxy's), each operation O(log
//! n). It has one owner, reads no clock and has no callbacks: evicted items are returned.
//!
//! Callers: `limits` (connections and sessions that wait to be served), `webrtc` (handshakes), `turns`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Prefix length of an IPv6 network that is assigned to one customer, machine or phone.
const NETWORK_BITS_V6: u32 = 64;

/// Prefix length of an IPv6 network that is assigned to the owner of a site or of a free tunnel.
const SITE_BITS_V6: u32 = 48;

/// Prefix length of the smallest IPv4 network that is routed by itself.
const SITE_BITS_V4: u32 = 24;

/// Returns the key under which an address is counted. An IPv6 host has the 2⁶⁴ addresses of its network as
/// well, so the network is the key; IPv4 addresses mapped into IPv6 are IPv4 addresses.
pub fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => prefix_v6(address, NETWORK_BITS_V6),
    }
}

/// Returns the coarser network that an address belongs to: probably one owner's.
pub(crate) fn site(network: IpAddr) -> IpAddr {
    match network {
        IpAddr::V4(address) => {
            let host_bits = Ipv4Addr::BITS - SITE_BITS_V4;
            Ipv4Addr::from_bits(address.to_bits() >> host_bits << host_bits).into()
        }
        IpAddr::V6(address) => prefix_v6(address, SITE_BITS_V6),
    }
}

fn prefix_v6(address: Ipv6Addr, bits: u32) -> IpAddr {
    let host_bits = Ipv6Addr::BITS - bits;
    Ipv6Addr::from_bits(address.to_bits() >> host_bits << host_bits).into()
}

/// Knowledge about an address.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Standing {
    /// Nothing is known.
    #[default]
    Stranger,
    /// The address has presented a credential: its first items, as many as the reserve allows, do not weigh.
    Known,
    /// A proxy for many others, so it has no share of its own; all its items weigh.
    Proxy,
}

/// Name of an item until it is given back or evicted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ShareTicket {
    network: IpAddr,
    serial: u64,
}

/// Reason why an item has to give way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Crowded {
    /// The item's address has more than its share.
    Share,
    /// There are too many items in all, and the item's address has the most.
    Pool,
}

/// Places shared out by address; [`take`](Self::take) one per item and [`give_back`](Self::give_back) it.
#[derive(Debug)]
pub struct Shares<T> {
    bounds: Bounds,
    len: usize,
    /// Next serial number; serial numbers order items by age.
    next: u64,
    holders: HashMap<IpAddr, Holder<T>>,
    sites: HashMap<IpAddr, Site>,
    /// Ranks of all sites, the greediest last.
    ranks: BTreeSet<Rank>,
}

/// Bounds on the number of items.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bounds {
    /// Items in all.
    pub max: usize,
    /// Items of one address.
    pub share: usize,
    /// Items of a known address that do not weigh.
    pub reserve: usize,
}

/// Weight, oldest item, and address.
type Rank = (usize, Reverse<u64>, IpAddr);

#[derive(Debug)]
struct Holder<T> {
    standing: Standing,
    items: BTreeMap<u64, T>,
}

#[derive(Debug, Default)]
struct Site {
    weight: usize,
    /// Ranks of the site's addresses, the greediest last.
    ranks: BTreeSet<Rank>,
}

impl Site {
    fn rank(&self, site: IpAddr) -> Option<Rank> {
        let (_, oldest, _) = self.ranks.last()?;
        Some((self.weight, *oldest, site))
    }
}

impl<T> Holder<T> {
    fn rank(&self, network: IpAddr, reserve: usize) -> Option<Rank> {
        let (oldest, _) = self.items.first_key_value()?;
        let weight = match self.standing {
            Standing::Known => self.items.len().saturating_sub(reserve),
            Standing::Stranger | Standing::Proxy => self.items.len(),
        };
        Some((weight, Reverse(*oldest), network))
    }
}

impl<T> Shares<T> {
    /// Creates an empty pool.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            len: 0,
            next: 0,
            holders: HashMap::new(),
            sites: HashMap::new(),
            ranks: BTreeSet::new(),
        }
    }

    /// Returns the current number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the current number of items of an address.
    pub fn held_by(&self, address: IpAddr) -> usize {
        let holder = self.holders.get(&network(address));
        holder.map_or(0, |holder| holder.items.len())
    }

    /// Adds an item. The one evicted for it, if any, is returned: it is never the new one.
    pub fn take(
        &mut self,
        address: IpAddr,
        standing: Standing,
        item: T,
    ) -> (ShareTicket, Option<(T, Crowded)>) {
        let network = network(address);
        let serial = self.next;
        self.next += 1;
        let held = self.change(network, |holder| {
            holder.standing = standing;
            holder.items.insert(serial, item);
            holder.items.len()
        });
        self.len += 1;
        let evicted = if held > self.bounds.share.max(1) && standing != Standing::Proxy {
            self.evict(network).map(|item| (item, Crowded::Share))
        } else if self.len > self.bounds.max.max(1) {
            let greediest = self.greediest();
            let item = greediest.and_then(|network| self.evict(network));
            item.map(|item| (item, Crowded::Pool))
        } else {
            None
        };
        (ShareTicket { network, serial }, evicted)
    }

    /// Removes an item, unless it was evicted or removed before.
    pub fn give_back(&mut self, ticket: ShareTicket) -> Option<T> {
        let ShareTicket { network, serial } = ticket;
        if !self.holders.contains_key(&network) {
            return None;
        }
        let item = self.change(network, |holder| holder.items.remove(&serial))?;
        self.len -= 1;
        Some(item)
    }

    /// Removes the item that would be evicted if there were one too many.
    pub fn evict_greediest(&mut self) -> Option<T> {
        let network = self.greediest()?;
        self.evict(network)
    }

    /// Removes the oldest item of an address.
    pub fn evict_of(&mut self, address: IpAddr) -> Option<T> {
        let network = network(address);
        self.holders.contains_key(&network).then_some(())?;
        self.evict(network)
    }

    fn evict(&mut self, network: IpAddr) -> Option<T> {
        let (_, item) = self.change(network, |holder| holder.items.pop_first())?;
        self.len -= 1;
        Some(item)
    }

    fn greediest(&self) -> Option<IpAddr> {
        let (_, _, site) = self.ranks.last()?;
        let (_, _, network) = self.sites.get(site)?.ranks.last()?;
        Some(*network)
    }

    /// Changes the items of an address, and its rank accordingly.
    fn change<R>(&mut self, network: IpAddr, change: impl FnOnce(&mut Holder<T>) -> R) -> R {
        let reserve = self.bounds.reserve;
        let holder = self.holders.entry(network).or_insert_with(|| Holder {
            standing: Standing::Stranger,
            items: BTreeMap::new(),
        });
        let before = holder.rank(network, reserve);
        let result = change(holder);
        let after = holder.rank(network, reserve);
        if after.is_none() {
            self.holders.remove(&network);
        }
        self.rank_again(site(network), before, after);
        result
    }

    fn rank_again(&mut self, name: IpAddr, before: Option<Rank>, after: Option<Rank>) {
        let site = self.sites.entry(name).or_default();
        if let Some(rank) = site.rank(name) {
            self.ranks.remove(&rank);
        }
        if let Some(rank) = before {
            site.weight -= rank.0;
            site.ranks.remove(&rank);
        }
        if let Some(rank) = after {
            site.weight += rank.0;
            site.ranks.insert(rank);
        }
        match site.rank(name) {
            Some(rank) => {
                self.ranks.insert(rank);
            }
            None => {
                self.sites.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        max: 8,
        share: 4,
        reserve: 2,
    };

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn host(network: u8, host: u8) -> IpAddr {
        IpAddr::from([192, 0, network, host])
    }

    fn take(shares: &mut Shares<u32>, address: IpAddr, item: u32) -> Option<(u32, Crowded)> {
        shares.take(address, Standing::Stranger, item).1
    }

    #[test]
    fn an_ipv6_network_is_one_and_an_ipv4_address_is_itself() {
        for (one, other, same) in [
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
        ] {
            let is_same = network(address(one)) == network(address(other));
            assert_eq!(is_same, same, "{one} {other}");
        }
    }

    #[test]
    fn items_are_taken_out_where_they_are_missed_least() {
        let mut shares = Shares::new(BOUNDS);
        assert_eq!(shares.evict_greediest(), None);
        for (network, item) in [(1, 0), (2, 1), (2, 2)] {
            take(&mut shares, host(network, 1), item);
        }
        assert_eq!(shares.evict_of(host(3, 1)), None);
        // The oldest of the one with most.
        assert_eq!(shares.evict_greediest(), Some(1));
        assert_eq!(shares.evict_of(host(2, 1)), Some(2));
        assert_eq!(shares.evict_of(host(2, 1)), None);
        assert_eq!((shares.len(), shares.evict_greediest()), (1, Some(0)));
        assert!(shares.is_empty() && shares.greediest().is_none());
    }

    #[test]
    fn beyond_its_share_an_address_replaces_its_own_oldest() {
        let mut shares = Shares::new(BOUNDS);
        for item in 0..4 {
            assert_eq!(take(&mut shares, host(1, 1), item), None);
        }
        assert_eq!(take(&mut shares, host(1, 1), 4), Some((0, Crowded::Share)));
        assert_eq!(shares.held_by(host(1, 1)), 4);
        let proxied: Vec<_> = (10..14)
            .map(|item| shares.take(host(2, 1), Standing::Proxy, item).1)
            .collect();
        assert_eq!(proxied, [None; 4]);
        let (_, evicted) = shares.take(host(2, 1), Standing::Proxy, 14);
        assert_eq!(evicted, Some((10, Crowded::Pool)), "a proxy has no share");
    }

    #[test]
    fn the_oldest_of_the_greediest_gives_way() {
        let mut shares = Shares::new(BOUNDS);
        for (network, items) in [(1, 100..101), (2, 0..4), (3, 4..7)] {
            for item in items {
                assert_eq!(take(&mut shares, host(network, 1), item), None);
            }
        }
        assert_eq!(shares.len(), 8);
        // The first came earlier and holds less. After that two hold three: the older item gives way.
        for (last, item, evicted) in [(1, 101, 0), (2, 102, 1), (3, 103, 4)] {
            let taken = take(&mut shares, host(4, last), item);
            assert_eq!(taken, Some((evicted, Crowded::Pool)), "{item}");
        }
        assert_eq!(shares.len(), 8);
    }

    #[test]
    fn many_addresses_of_one_site_weigh_as_one() {
        let six = ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1"];
        for (site, elsewhere) in [
            (six, "2001:db8:9:1::1"),
            (["192.0.2.1", "192.0.2.2", "192.0.2.3"], "198.51.100.1"),
        ] {
            let mut shares = Shares::new(BOUNDS);
            // Elsewhere one address holds more than any of the site, and the oldest.
            for item in 0..3 {
                assert_eq!(take(&mut shares, address(elsewhere), item), None);
            }
            for item in 10..15 {
                let from = site[item as usize % 3];
                assert_eq!(take(&mut shares, address(from), item), None);
            }
            // 13 came from the second address, which holds two like the first.
            let evicted = take(&mut shares, host(200, 1), 100);
            let is_of_site = matches!(evicted, Some((10..15, Crowded::Pool)));
            assert!(is_of_site, "{evicted:?}");
        }
    }

    #[test]
    fn a_known_address_keeps_its_reserve() {
        let mut shares = Shares::new(Bounds { share: 8, ..BOUNDS });
        for item in 0..3 {
            shares.take(host(1, 1), Standing::Known, item);
        }
        // As many strangers as fit, one item each: no address is greedy.
        for item in 10..15 {
            assert_eq!(take(&mut shares, host(item as u8, 1), item), None);
        }
        let evicted: Vec<_> = (20..30)
            .filter_map(|item| take(&mut shares, host(item as u8, 1), item))
            .map(|(item, _)| item)
            .collect();
        // What is beyond the reserve goes as a stranger's, the rest stays.
        assert_eq!(evicted, [0, 10, 11, 12, 13, 14, 20, 21, 22, 23]);
        assert_eq!(shares.held_by(host(1, 1)), 2);
    }

    #[test]
    fn nothing_is_kept_of_what_was_given_back() {
        let mut shares = Shares::new(BOUNDS);
        let mut tickets: Vec<_> = (0..6)
            .map(|item| shares.take(host(item as u8, 1), Standing::Stranger, item).0)
            .collect();
        let first = tickets[0];
        assert_eq!(shares.give_back(first), Some(0));
        assert_eq!(shares.give_back(first), None, "given back once");
        for ticket in tickets.drain(1..) {
            assert!(shares.give_back(ticket).is_some());
        }
        assert!(shares.is_empty() && shares.holders.is_empty());
        assert!(shares.sites.is_empty() && shares.ranks.is_empty());
        let (evicted, _) = shares.take(host(1, 1), Standing::Stranger, 0);
        for item in 1..5 {
            take(&mut shares, host(1, 1), item);
        }
        assert_eq!(shares.give_back(evicted), None, "evicted before");
        assert_eq!(shares.len(), 4);
    }
}
