//! How often an address may be wrong, counted for each kind of action by itself: an encoder that
//! retries with an old key must not lock out the operator who is about to correct it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::address::network;

/// Wrong credentials an address may present in a row for one kind of action: a person trying all they know, and a source
/// client that retries while its operator looks for the key.
const ALLOWANCE: u32 = 20;

/// How long until one more wrong credential is allowed again. A script that guesses gets 43,200 a
/// day for each kind, of 2¹⁴⁴.
const REFILL: Duration = Duration::from_secs(2);

/// Addresses remembered, once for each kind; about 300 KiB. Beyond it the one that was wrong longest
/// ago is forgotten.
const ADDRESSES_MAX: usize = 4_096;

/// For what a credential was presented.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Kind {
    Publish,
    UpdateMetadata,
    Administer,
}

/// The allowance of every address that was wrong lately.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<HashMap<(IpAddr, Kind), Instant>>);

// For each address and kind the map holds the moment at which its allowance will be whole again. It lies
// `REFILL` further ahead with each failure.
impl Attempts {
    pub(super) fn are_used_up(&self, peer: IpAddr, kind: Kind, now: Instant) -> bool {
        self.whole_at()
            .get(&(network(peer), kind))
            .is_some_and(|whole| whole.saturating_duration_since(now) > REFILL * (ALLOWANCE - 1))
    }

    pub(super) fn failed(&self, peer: IpAddr, kind: Kind, now: Instant) {
        let mut map = self.whole_at();
        let key = (network(peer), kind);
        if map.len() >= ADDRESSES_MAX && !map.contains_key(&key) {
            map.retain(|_, whole| *whole > now);
            let soonest = map
                .iter()
                .min_by_key(|(_, whole)| **whole)
                .map(|(key, _)| *key);
            if map.len() >= ADDRESSES_MAX
                && let Some(soonest) = soonest
            {
                map.remove(&soonest);
            }
        }
        let whole = map.entry(key).or_insert(now);
        *whole = (*whole).max(now) + REFILL;
    }

    fn whole_at(&self) -> MutexGuard<'_, HashMap<(IpAddr, Kind), Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    const PUBLISH: Kind = Kind::Publish;

    #[test]
    fn the_allowance_is_used_up_and_comes_back() {
        let attempts = Attempts::default();
        let (peer, start) = (IpAddr::from([192, 0, 2, 1]), Instant::now());
        for _ in 0..ALLOWANCE {
            assert!(!attempts.are_used_up(peer, PUBLISH, start));
            attempts.failed(peer, PUBLISH, start);
        }
        assert!(attempts.are_used_up(peer, PUBLISH, start));
        assert!(!attempts.are_used_up(peer, Kind::UpdateMetadata, start));
        assert!(!attempts.are_used_up(peer, Kind::Administer, start));
        assert!(!attempts.are_used_up(IpAddr::from([192, 0, 2, 2]), PUBLISH, start));
        assert!(!attempts.are_used_up(peer, PUBLISH, start + REFILL));
        attempts.failed(peer, PUBLISH, start + REFILL);
        assert!(attempts.are_used_up(peer, PUBLISH, start + REFILL));
    }

    #[test]
    fn neighbours_in_an_ipv6_network_share_one() {
        let attempts = Attempts::default();
        let start = Instant::now();
        for host in 0..ALLOWANCE as u16 {
            attempts.failed(
                Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, host).into(),
                PUBLISH,
                start,
            );
        }
        let used_up =
            |text: &str| attempts.are_used_up(text.parse().expect("address"), PUBLISH, start);
        assert!(used_up("2001:db8:0:1:ffff::1"));
        assert!(!used_up("2001:db8:0:2::1"));
    }

    #[test]
    fn many_addresses_do_not_fill_the_memory() {
        let attempts = Attempts::default();
        let start = Instant::now();
        for number in 0..ADDRESSES_MAX as u32 + 100 {
            attempts.failed(IpAddr::from(number.to_be_bytes()), PUBLISH, start);
        }
        assert_eq!(attempts.whole_at().len(), ADDRESSES_MAX);
    }
}
