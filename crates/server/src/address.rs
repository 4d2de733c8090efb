//! Client addresses: which ones count as the same client, and what proxies write about their clients.

use std::net::{IpAddr, SocketAddr};

pub(crate) use net::shares::network;

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
