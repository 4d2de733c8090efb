//! Addresses that have, or recently had, a publisher: each keeps a reserve of permits (see [`permits`](crate::permits)).

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Time for which an address is remembered after its last publisher left: one evening with a broken uplink.
const REMEMBERED: Duration = Duration::from_secs(3_600);

/// Maximum number of addresses remembered without a publisher. Beyond it, the one whose publisher left first is forgotten.
const REMEMBERED_MAX: usize = 1_024;

/// Addresses with an authenticated publisher, now or recently.
#[derive(Debug, Default)]
pub(super) struct Publishers(HashMap<IpAddr, Presence>);

#[derive(Debug)]
struct Presence {
    /// Number of present publishers.
    count: usize,
    /// Time at which the last one came or left.
    seen: Instant,
}

impl Publishers {
    pub(super) fn are_at(&self, address: IpAddr, now: Instant) -> bool {
        self.0.get(&address).is_some_and(|presence| {
            presence.count > 0 || now.saturating_duration_since(presence.seen) < REMEMBERED
        })
    }

    pub(super) fn came(&mut self, address: IpAddr, now: Instant) {
        let presence = self.0.entry(address).or_insert(Presence {
            count: 0,
            seen: now,
        });
        presence.count += 1;
    }

    pub(super) fn left(&mut self, address: IpAddr, now: Instant) {
        if let Some(presence) = self.0.get_mut(&address) {
            presence.count = presence.count.saturating_sub(1);
            presence.seen = now;
        }
        let absent = || self.0.iter().filter(|(_, presence)| presence.count == 0);
        if absent().count() > REMEMBERED_MAX {
            let first = absent().min_by_key(|(_, presence)| presence.seen);
            if let Some((&first, _)) = first {
                self.0.remove(&first);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(site: u8, host: u8) -> IpAddr {
        IpAddr::from([192, 0, site, host])
    }

    #[test]
    fn addresses_of_publishers_are_remembered_for_a_while() {
        let (mut publishers, start) = (Publishers::default(), Instant::now());
        publishers.came(address(2, 1), start);
        let later = start + REMEMBERED * 100;
        assert!(publishers.are_at(address(2, 1), later), "it is there still");
        publishers.left(address(2, 1), later);
        assert!(publishers.are_at(address(2, 1), later + REMEMBERED / 2));
        assert!(!publishers.are_at(address(2, 1), later + REMEMBERED));
        for number in 0..2 * REMEMBERED_MAX as u32 {
            let from = IpAddr::from(number.to_be_bytes());
            publishers.came(from, later);
            publishers.left(from, later);
        }
        assert_eq!(publishers.0.len(), REMEMBERED_MAX);
    }
}
