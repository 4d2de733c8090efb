//! Parsing of client addresses: the network that counts as one client, and the addresses that proxies write about their
//! clients.

use std::net::{IpAddr, SocketAddr};

pub use base::shares::network;

/// Parses one entry of X-Forwarded-For. Some proxies append the port: `192.0.2.1:5678`, `[2001:db8::1]:5678`.
pub fn forwarded(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bare = entry
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(entry);
    let address = bare.parse::<IpAddr>().ok();
    let address = address.or_else(|| entry.parse::<SocketAddr>().ok().map(|both| both.ip()));
    address.map(|address| address.to_canonical())
}

/// Parses one element of `Forwarded` (RFC 7239 §4). Returns `None` for names that hide the client's address (`_hidden`,
/// `unknown`).
///
/// An element is the text between two commas, even if a client left a quotation mark open further left: addresses contain no
/// comma, so the element that the last proxy wrote stays whole.
pub fn forwarded_element(element: &str) -> Option<IpAddr> {
    let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    let (_, value) = named.next()?;
    let is_one = named.next().is_none();
    let value = value.trim();
    let bare = match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?,
        None => value,
    };
    // A port may be hidden as well.
    let bare = match bare.rsplit_once(':') {
        Some((address, port)) if port.starts_with('_') => address,
        _ => bare,
    };
    forwarded(bare).filter(|_| is_one)
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

    #[test]
    fn elements_name_the_client_in_every_notation() {
        let here = Some("192.0.2.1");
        for (element, expected) in [
            (" for=192.0.2.1", here),
            ("For=192.0.2.1;proto=http;by=203.0.113.4", here),
            ("proto=https; for=\"192.0.2.1:5678\"", Some("192.0.2.1")),
            ("for=\"[2001:db8::17]:4711\"", Some("2001:db8::17")),
            ("for=\"[2001:db8::17]\"", Some("2001:db8::17")),
            ("for=\"192.0.2.1:_port\"", Some("192.0.2.1")),
            ("for=unknown", None),
            ("for=_hidden", None),
            ("for=\"_SEVKISEK\"", None),
            ("by=203.0.113.43", None),
            ("for=\"192.0.2.1", None),
            ("for=192.0.2.1;for=192.0.2.2", None),
            ("for=", None),
            ("", None),
        ] {
            let found = forwarded_element(element);
            assert_eq!(found, expected.map(address), "{element:?}");
        }
    }
}
