//! How often an address may be wrong.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Wrong credentials an address may present in a row: a person trying all they know, and a source
/// client that retries while its operator looks for the key.
const ALLOWANCE: u32 = 20;

/// How long until one more wrong credential is allowed again. A script that guesses gets 43,200 a
/// day, of 2¹⁴⁴.
const REFILL: Duration = Duration::from_secs(2);

/// Addresses remembered; about 300 KiB. Beyond it the one that was wrong longest ago is forgotten.
const ADDRESSES_MAX: usize = 4_096;

/// The allowance of every address that was wrong lately.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<HashMap<IpAddr, Instant>>);

// For each address the map holds the moment at which its allowance will be whole again. It lies
// `REFILL` further ahead with each failure.
impl Attempts {
    pub(super) fn are_used_up(&self, peer: IpAddr, now: Instant) -> bool {
        self.whole_at()
            .get(&network(peer))
            .is_some_and(|whole| whole.saturating_duration_since(now) > REFILL * (ALLOWANCE - 1))
    }

    pub(super) fn failed(&self, peer: IpAddr, now: Instant) {
        let mut map = self.whole_at();
        let peer = network(peer);
        if map.len() >= ADDRESSES_MAX && !map.contains_key(&peer) {
            map.retain(|_, whole| *whole > now);
            let soonest = map
                .iter()
                .min_by_key(|(_, whole)| **whole)
                .map(|(peer, _)| *peer);
            if map.len() >= ADDRESSES_MAX
                && let Some(soonest) = soonest
            {
                map.remove(&soonest);
            }
        }
        let whole = map.entry(peer).or_insert(now);
        *whole = (*whole).max(now) + REFILL;
    }

    fn whole_at(&self) -> MutexGuard<'_, HashMap<IpAddr, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever has an IPv6 address has the 2⁶⁴ of its network as well.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_is_used_up_and_comes_back() {
        let attempts = Attempts::default();
        let (peer, start) = (IpAddr::from([192, 0, 2, 1]), Instant::now());
        for _ in 0..ALLOWANCE {
            assert!(!attempts.are_used_up(peer, start));
            attempts.failed(peer, start);
        }
        assert!(attempts.are_used_up(peer, start));
        assert!(!attempts.are_used_up(IpAddr::from([192, 0, 2, 2]), start));
        assert!(!attempts.are_used_up(peer, start + REFILL));
        attempts.failed(peer, start + REFILL);
        assert!(attempts.are_used_up(peer, start + REFILL));
    }

    #[test]
    fn neighbours_in_an_ipv6_network_share_one() {
        let attempts = Attempts::default();
        let start = Instant::now();
        for host in 0..ALLOWANCE as u16 {
            attempts.failed(
                Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, host).into(),
                start,
            );
        }
        let used_up = |text: &str| attempts.are_used_up(text.parse().expect("address"), start);
        assert!(used_up("2001:db8:0:1:ffff::1"));
        assert!(!used_up("2001:db8:0:2::1"));
    }

    #[test]
    fn many_addresses_do_not_fill_the_memory() {
        let attempts = Attempts::default();
        let start = Instant::now();
        for number in 0..ADDRESSES_MAX as u32 + 100 {
            attempts.failed(IpAddr::from(number.to_be_bytes()), start);
        }
        assert_eq!(attempts.whole_at().len(), ADDRESSES_MAX);
    }
}
