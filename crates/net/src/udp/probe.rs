//! Test of whether this host's kernel cuts runs of datagrams, by making it cut one.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::Duration;

use super::address::{Family, Name};
use super::control::Control;
use super::sys;

/// Time that the trial waits for datagrams that should have arrived already.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether `UDP_SEGMENT` works. A network device may still lack the ability; that shows when it is used.
pub(super) fn can_segment() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| attempt().is_some())
}

fn attempt() -> Option<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    let name = Name::new(socket.local_addr().ok()?, Family::V4)?;
    let mut control = Control::default();
    control.push_segment(3);
    sys::send(socket.as_fd(), &name, b"run.cut", &control).ok()?;
    for expected in [&b"run"[..], b".cu", b"t"] {
        let mut datagram = [0; 8];
        let len = socket.recv(&mut datagram).ok()?;
        if &datagram[..len] != expected {
            return None;
        }
    }
    Some(())
}
