//! Addresses announced to peers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::PortConfig;
use crate::ice::Transport;
use crate::sdp::Candidate;

/// Largest number of announced addresses: a peer checks every one of them, and most are useless to it.
const ADDRESSES_MAX: usize = 8;

/// Documentation addresses, which no host has (RFC 5737, RFC 3849). The route to them is the default route.
const FAR: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
];

/// Returns the candidates of a port that is bound to `address`: UDP for each address, then TCP.
pub(super) fn of(address: SocketAddr, config: &PortConfig) -> Vec<Candidate> {
    let ips = match &*config.public_addresses {
        [] => match address.ip().is_unspecified() {
            true => choose(address.ip(), &found()),
            false => vec![address.ip()],
        },
        configured => configured.to_vec(),
    };
    let transports: &[_] = match config.tcp {
        true => &[Transport::Udp, Transport::Tcp],
        false => &[Transport::Udp],
    };
    let port = address.port();
    transports
        .iter()
        .flat_map(|transport| {
            ips.iter().map(|ip| Candidate {
                address: SocketAddr::new(*ip, port),
                transport: *transport,
            })
        })
        .collect()
}

/// Returns this host's addresses: those on the default routes first, then all others.
fn found() -> Vec<IpAddr> {
    let outwards = FAR
        .iter()
        .filter_map(|far| net::udp::local_towards(SocketAddr::new(*far, 9)))
        .filter(|ip| !ip.is_loopback());
    let others = net::interfaces::addresses().unwrap_or_else(|error| {
        tracing::warn!(%error, "the interfaces' addresses are not known");
        Vec::new()
    });
    outwards.chain(others).collect()
}

/// Selects the addresses on which a socket bound to all addresses of a family receives. An IPv6 socket receives IPv4 as well.
fn choose(bound: IpAddr, found: &[IpAddr]) -> Vec<IpAddr> {
    let mut chosen = Vec::new();
    for ip in found {
        if (ip.is_ipv4() || bound.is_ipv6()) && !chosen.contains(ip) {
            chosen.push(*ip);
        }
    }
    chosen.truncate(ADDRESSES_MAX);
    if chosen.is_empty() {
        // Only this host itself can connect there.
        chosen.push(Ipv4Addr::LOCALHOST.into());
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|ip| ip.parse().expect("an IP")).collect()
    }

    fn config(listen: &str) -> PortConfig {
        PortConfig::new(listen.parse().expect("an address"))
    }

    fn texts(candidates: &[Candidate]) -> Vec<(String, Transport)> {
        let text = |candidate: &Candidate| (candidate.address.to_string(), candidate.transport);
        candidates.iter().map(text).collect()
    }

    #[test]
    fn what_is_configured_is_reported_and_nothing_else() {
        let mut config = config("0.0.0.0:8189");
        config.public_addresses = ips(&["198.51.100.7", "2001:db8::7"]);
        let both = ["198.51.100.7:8189", "[2001:db8::7]:8189"];
        let expected = [Transport::Udp, Transport::Tcp]
            .map(|transport| both.map(|address| (address.to_owned(), transport)));
        assert_eq!(texts(&of(config.listen, &config)), expected.concat());
    }

    #[test]
    fn one_address_is_reported_as_it_is() {
        let mut config = config("127.0.0.1:8189");
        config.tcp = false;
        let expected = [("127.0.0.1:8189".into(), Transport::Udp)];
        assert_eq!(texts(&of(config.listen, &config)), expected);
    }

    #[test]
    fn all_addresses_are_reported_by_name() {
        for listen in ["0.0.0.0:1", "[::]:1"] {
            let config = config(listen);
            let candidates = of(config.listen, &config);
            assert!(!candidates.is_empty());
            for candidate in candidates {
                assert!(!candidate.address.ip().is_unspecified(), "{candidate:?}");
            }
        }
    }

    #[test]
    fn each_family_hears_its_own_and_loopback_is_the_last_resort() {
        let found = ips(&["192.0.2.2", "fd00::2", "192.0.2.2", "10.0.0.1"]);
        let four = Ipv4Addr::UNSPECIFIED.into();
        let six = Ipv6Addr::UNSPECIFIED.into();
        assert_eq!(choose(four, &found), ips(&["192.0.2.2", "10.0.0.1"]));
        let of_six = ips(&["192.0.2.2", "fd00::2", "10.0.0.1"]);
        assert_eq!(choose(six, &found), of_six);
        assert_eq!(choose(four, &ips(&["fd00::2"])), ips(&["127.0.0.1"]));
        let many = (0..100).map(|bits| Ipv4Addr::from_bits(bits).into());
        let many: Vec<_> = many.collect();
        assert_eq!(choose(four, &many).len(), ADDRESSES_MAX);
    }
}
