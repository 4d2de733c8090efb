//! Control messages of datagrams: the local address that they are sent from or were sent to, and how the
//! kernel cuts them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::BorrowedFd;

use super::address::{Family, mapped};
use super::sys;
use crate::control::{self, array, space};

/// Room for the longest pair of messages: an IPv6 address with its interface, and a segment's length.
pub(super) const CONTROL_LEN: usize =
    space(size_of::<libc::in6_pktinfo>()) + space(size_of::<u16>());

/// Control messages of one send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    bytes: [u8; CONTROL_LEN],
    len: usize,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            bytes: [0; CONTROL_LEN],
            len: 0,
        }
    }
}

impl Control {
    /// Adds the local address to send from.
    pub(super) fn push_local(&mut self, local: IpAddr, family: Family) {
        match (family, local.to_canonical()) {
            (Family::V4, IpAddr::V4(ip)) => {
                // Three fields: an interface, which the kernel is to find; the address; one that is only
                // read.
                let mut info = [0; size_of::<libc::in_pktinfo>()];
                info[4..8].copy_from_slice(&ip.octets());
                self.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
            }
            // An IPv4 socket has no IPv6 address.
            (Family::V4, IpAddr::V6(_)) => {}
            (Family::V6, ip) => {
                let mut info = [0; size_of::<libc::in6_pktinfo>()];
                info[..16].copy_from_slice(&mapped(ip).octets());
                self.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
        }
    }

    /// Makes the kernel cut the bytes into datagrams of this length.
    pub(super) fn push_segment(&mut self, segment: u16) {
        self.push(libc::SOL_UDP, libc::UDP_SEGMENT, &segment.to_ne_bytes());
    }

    fn push(&mut self, level: libc::c_int, kind: libc::c_int, data: &[u8]) {
        match control::write(&mut self.bytes[self.len..], level, kind, data) {
            Some(len) => self.len += len,
            None => debug_assert!(false, "there is room for one message of each kind"),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Makes the kernel report the local address that each datagram was sent to.
pub(super) fn tell_local(socket: BorrowedFd<'_>, family: Family) -> io::Result<()> {
    match family {
        Family::V4 => sys::set_option(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1),
        Family::V6 => sys::set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1),
    }
}

/// Returns the local address that a datagram was sent to, if the kernel reported it.
pub(super) fn local(messages: &[u8]) -> Option<IpAddr> {
    control::read(messages).find_map(|(level, kind, data)| match (level, kind) {
        // After the interface comes the address that a reply must come from.
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => Some(Ipv4Addr::from(array::<4>(data, 4)?).into()),
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            let ip = Ipv6Addr::from(array::<16>(data, 0)?);
            Some(IpAddr::V6(ip).to_canonical())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (ip, family) in [
            ("192.0.2.1", Family::V4),
            ("192.0.2.1", Family::V6),
            ("2001:db8::1", Family::V6),
        ] {
            let ip: IpAddr = ip.parse().expect("an address");
            let mut control = Control::default();
            control.push_segment(1_200);
            control.push_local(ip, family);
            assert_eq!(local(control.as_bytes()), Some(ip));
            for cut in 0..control.len {
                // Not even half a message makes it read past the end.
                local(&control.as_bytes()[..cut]);
            }
        }
        assert_eq!(local(&[]), None);
        assert_eq!(local(&[0; 64]), None, "a length shorter than its header");
        assert_eq!(local(&[0xff; 64]), None);
    }
}
