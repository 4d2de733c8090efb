//! Address ranges.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address with the number of leading bits that count: `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Error of a text that is no network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotANetwork;

impl Network {
    /// Whether an address lies within the network. IPv4 addresses mapped into IPv6, as dual-stack sockets
    /// report them, count as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.prefix);
                let bits = network.to_bits() ^ address.to_bits();
                bits.checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.prefix);
                let bits = network.to_bits() ^ address.to_bits();
                bits.checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NotANetwork)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| NotANetwork)?,
            None => bits,
        };
        if prefix > bits {
            return Err(NotANetwork);
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_within_or_not() {
        for (network, address, expected) in [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false),
            ("fd00::/8", "fd12::1", true),
            ("::/0", "2001:db8::1", true),
            ("::1", "::1", true),
        ] {
            let network: Network = network.parse().expect("a network");
            let contains = network.contains(address.parse().expect("an address"));
            assert_eq!(contains, expected, "{network} {address}");
        }
        let others = " 10.0.0.0/33 10.0.0/8 ::/129 10.0.0.0/ localhost 1.1.1.1/-1";
        for text in others.split(' ') {
            assert_eq!(text.parse::<Network>(), Err(NotANetwork), "{text}");
        }
    }
}
