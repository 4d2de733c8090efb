//! Counts per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use base::Lock;
use base::shares::network;

/// Counts by address, which the caller has reduced to its [`network`]. Addresses with a count of zero are removed, so the map
/// is never larger than the number of things it counts.
#[derive(Debug, Default)]
pub(super) struct Tally(Lock<HashMap<IpAddr, u32>>);

impl Tally {
    /// Counts one more, unless the address has `max` already; returns whether it did.
    pub(super) fn take(&self, network: IpAddr, max: u32) -> bool {
        let mut counts = self.0.lock();
        let count = counts.get(&network).copied().unwrap_or_default();
        let granted = count < max;
        if granted {
            counts.insert(network, count + 1);
        }
        granted
    }

    pub(super) fn give_back(&self, network: IpAddr) {
        let mut counts = self.0.lock();
        if let Some(count) = counts.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&network);
            }
        }
    }
}

/// Limit on the things of one kind that each address may hold at a time.
#[derive(Clone, Debug)]
pub struct AddressShare {
    counts: Arc<Tally>,
    max: u32,
}

impl AddressShare {
    pub(super) fn new(max: u32) -> Self {
        Self {
            counts: Arc::default(),
            max,
        }
    }

    /// Takes one place of the address's share, for as long as the returned value is kept; returns `None` if the share is used
    /// up.
    pub fn take(&self, address: IpAddr) -> Option<SharePlace> {
        let network = network(address);
        self.counts.take(network, self.max).then(|| SharePlace {
            counts: Arc::clone(&self.counts),
            network,
        })
    }
}

/// One place in an address's share.
#[derive(Debug)]
pub struct SharePlace {
    counts: Arc<Tally>,
    network: IpAddr,
}

impl Drop for SharePlace {
    fn drop(&mut self) {
        self.counts.give_back(self.network);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_and_no_more() {
        let share = AddressShare::new(2);
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let here = address("2001:db8::1");
        let places = [share.take(here), share.take(address("2001:db8::2"))];
        assert!(places.iter().all(Option::is_some));
        assert!(share.take(here).is_none(), "they are one /64");
        assert!(share.take(address("192.0.2.1")).is_some());
        drop(places);
        assert!(share.take(here).is_some());
        assert!(share.counts.0.lock().is_empty());
    }
}
