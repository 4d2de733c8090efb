//! Limits wrong credentials per address and kind of action: an encoder that retries with an old key must not
//! lock out the operator who is about to correct it.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use fanout::gate::Action;

use limits::Allowances;
use net::shares::network;

/// Wrong credentials an address may present in a row for one kind of action: a person who tries all passwords
/// they know, or a source client that retries while its operator looks for the key.
const ALLOWANCE: u32 = 20;

/// How long until one more wrong credential is allowed again. A guessing script gets 43,200 per day
/// for each kind, of 2¹⁴⁴.
const REFILL: Duration = Duration::from_secs(2);

/// What a credential was presented for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Kind {
    Publish,
    Play,
    UpdateMetadata,
    Administer,
}

impl Kind {
    pub(super) const fn of(action: Action) -> Self {
        match action {
            Action::Publish => Self::Publish,
            Action::Play => Self::Play,
            Action::UpdateMetadata => Self::UpdateMetadata,
        }
    }
}

/// The allowances of all addresses that presented a wrong credential lately.
#[derive(Debug)]
pub(super) struct Attempts(Allowances<(IpAddr, Kind)>);

impl Default for Attempts {
    fn default() -> Self {
        Self(Allowances::new(ALLOWANCE, REFILL))
    }
}

impl Attempts {
    pub(super) fn are_used_up(&self, peer: IpAddr, kind: Kind, now: Instant) -> bool {
        self.0.is_used_up((network(peer), kind), now)
    }

    pub(super) fn failed(&self, peer: IpAddr, kind: Kind, now: Instant) {
        self.0.spend((network(peer), kind), now);
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
}
