//! Whose address it is: who counts as one, and what proxies write of their clients.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// What stands for everybody who has this address. Whoever has an IPv6 address has the 2⁶⁴ of its
/// network as well; IPv4 addresses mapped into IPv6 are IPv4 addresses.
pub(crate) fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// One entry of X-Forwarded-For. Some proxies append the port: `192.0.2.1:5678`, `[2001:db8::1]:5678`.
pub(crate) fn forwarded(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bare = entry
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(entry);
    let address = bare.parse::<IpAddr>().ok();
    let address = address.or_else(|| entry.parse::<SocketAddr>().ok().map(|both| both.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
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
    fn clients_are_read_with_and_without_a_port() {
        for (entry, expected) in [
            ("192.0.2.1", Some("192.0.2.1")),
            (" 192.0.2.1 ", Some("192.0.2.1")),
            ("192.0.2.1:5678", Some("192.0.2.1")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("[2001:db8::1]", Some("2001:db8::1")),
            ("[2001:db8::1]:5678", Some("2001:db8::1")),
            ("::ffff:192.0.2.1", Some("192.0.2.1")),
            ("unknown", None),
            ("_hidden", None),
            ("192.0.2.1:99999", None),
            ("[192.0.2.1", None),
            ("", None),
        ] {
            assert_eq!(forwarded(entry), expected.map(address), "{entry:?}");
        }
    }
}
