//! Socket addresses in the kernel's format.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use crate::control::array;

/// Length of the longer kind of address, in bytes.
pub(super) const NAME_LEN: usize = size_of::<libc::sockaddr_in6>();

/// Length of the shorter kind, in bytes.
const NAME_V4_LEN: usize = size_of::<libc::sockaddr_in>();

/// Address family of a socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Family {
    V4,
    /// IPv4 addresses are mapped.
    V6,
}

/// One address: `sockaddr_in` or `sockaddr_in6`, byte for byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    bytes: [u8; NAME_LEN],
    len: usize,
}

impl Name {
    /// Encodes the address for a socket of this family; `None` if the family cannot express it.
    pub(super) fn new(address: SocketAddr, family: Family) -> Option<Self> {
        let mut bytes = [0; NAME_LEN];
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        let len = match (family, address.ip().to_canonical()) {
            (Family::V4, IpAddr::V4(ip)) => {
                bytes[..2].copy_from_slice(&word(libc::AF_INET));
                bytes[4..8].copy_from_slice(&ip.octets());
                NAME_V4_LEN
            }
            (Family::V4, IpAddr::V6(_)) => return None,
            (Family::V6, ip) => {
                bytes[..2].copy_from_slice(&word(libc::AF_INET6));
                bytes[8..24].copy_from_slice(&mapped(ip).octets());
                if let SocketAddr::V6(address) = address {
                    // Interface index, for addresses that mean nothing without it.
                    bytes[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
                }
                NAME_LEN
            }
        };
        Some(Self { bytes, len })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Decodes an address that the kernel wrote.
pub(super) fn decode(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(array(bytes, 0)?);
    let port = u16::from_be_bytes(array(bytes, 2)?);
    match i32::from(family) {
        libc::AF_INET => Some((Ipv4Addr::from(array::<4>(bytes, 4)?), port).into()),
        libc::AF_INET6 => {
            let ip = Ipv6Addr::from(array::<16>(bytes, 8)?);
            if let IpAddr::V4(ip) = ip.to_canonical() {
                return Some((ip, port).into());
            }
            let scope = u32::from_ne_bytes(array(bytes, 24)?);
            // The flow label is not part of the identity of a peer.
            Some(SocketAddrV6::new(ip, port, 0, scope).into())
        }
        _ => None,
    }
}

/// Returns the address for an IPv6 socket.
pub(super) fn mapped(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

/// Returns the family number as bytes of the kernel's first field.
fn word(family: libc::c_int) -> [u8; 2] {
    (family as libc::sa_family_t).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_either_socket() {
        for (text, family) in [
            ("192.0.2.1:8189", Family::V4),
            ("192.0.2.1:8189", Family::V6),
            ("[2001:db8::7]:1", Family::V6),
            ("[fe80::1%3]:65535", Family::V6),
        ] {
            let address: SocketAddr = text.parse().expect("an address");
            let name = Name::new(address, family).expect("expressible");
            assert_eq!(decode(name.as_bytes()), Some(address), "{text}");
        }
        let mapped: SocketAddr = "[::ffff:192.0.2.1]:5".parse().expect("an address");
        let name = Name::new(mapped, Family::V4).expect("it is an IPv4 address");
        assert_eq!(decode(name.as_bytes()), "192.0.2.1:5".parse().ok());
        let six: SocketAddr = "[2001:db8::7]:1".parse().expect("an address");
        assert!(Name::new(six, Family::V4).is_none());
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[0; NAME_LEN]), None);
        assert_eq!(decode(&name.as_bytes()[..7]), None);
    }
}
