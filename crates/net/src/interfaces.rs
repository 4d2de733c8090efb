//! Addresses of this host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr::null_mut;

/// Most interfaces examined: hosts of many containers have hundreds, most of them of no use to peers.
const ENTRIES_MAX: usize = 4_096;

/// Returns the addresses of the interfaces that are up, in the system's order, without loopback and
/// link-local ones.
///
/// # Errors
/// Those of `getifaddrs`.
pub fn addresses() -> io::Result<Vec<IpAddr>> {
    let list = List::take()?;
    let mut found = Vec::new();
    for entry in list.iter().take(ENTRIES_MAX) {
        let is_up = entry.ifa_flags & libc::IFF_UP as libc::c_uint != 0;
        if let Some(ip) = address(entry).filter(|ip| is_up && travels(*ip))
            && !found.contains(&ip)
        {
            found.push(ip);
        }
    }
    Ok(found)
}

/// Whether an address means the same to peers on other links.
fn travels(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            !(ip.is_loopback() || ip.is_link_local() || ip.is_unspecified() || ip.is_multicast())
        }
        IpAddr::V6(ip) => {
            !(ip.is_loopback()
                || ip.is_unicast_link_local()
                || ip.is_unspecified()
                || ip.is_multicast())
        }
    }
}

fn address(entry: &libc::ifaddrs) -> Option<IpAddr> {
    // SAFETY: the system's list has null or a socket address here, which begins with its family.
    let name = unsafe { entry.ifa_addr.as_ref() }?;
    match i32::from(name.sa_family) {
        libc::AF_INET => {
            // SAFETY: the family determines the struct, and lists are aligned for all of them.
            let name = unsafe { &*entry.ifa_addr.cast::<libc::sockaddr_in>() };
            let bits = u32::from_be(name.sin_addr.s_addr);
            Some(Ipv4Addr::from_bits(bits).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { &*entry.ifa_addr.cast::<libc::sockaddr_in6>() };
            Some(Ipv6Addr::from(name.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// The system's list, freed when dropped.
struct List(*mut libc::ifaddrs);

impl List {
    fn take() -> io::Result<Self> {
        let mut head = null_mut();
        // SAFETY: it writes one pointer, to a list that is ours until it is freed.
        match unsafe { libc::getifaddrs(&raw mut head) } {
            0 => Ok(Self(head)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &libc::ifaddrs> {
        let mut next = self.0;
        std::iter::from_fn(move || {
            // SAFETY: each entry points to the next or to nothing, and the list lives as long as `self`.
            let entry = unsafe { next.as_ref() }?;
            next = entry.ifa_next;
            Some(entry)
        })
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: it is the head that `getifaddrs` returned, and no entry is borrowed any more.
        unsafe { libc::freeifaddrs(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_found_is_this_hosts() {
        for ip in addresses().expect("a list") {
            assert!(travels(ip), "{ip}");
            std::net::UdpSocket::bind((ip, 0)).expect("an address of this host");
        }
    }

    #[test]
    fn addresses_of_a_link_are_not_reported() {
        for text in "127.0.0.1 169.254.1.1 ::1 fe80::1 0.0.0.0 ::".split(' ') {
            assert!(!travels(text.parse().expect("an address")), "{text}");
        }
        for text in ["10.0.0.1", "192.0.2.1", "fd00::1", "2001:db8::1"] {
            assert!(travels(text.parse().expect("an address")), "{text}");
        }
    }
}
