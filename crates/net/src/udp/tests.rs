use std::io::ErrorKind;
use std::net::{Ipv6Addr, UdpSocket};
use std::time::Duration;

use socket2::SockRef;

use super::*;

const LOCALHOST: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn local() -> Socket {
    Socket::bind((LOCALHOST, 0).into()).expect("a port")
}

fn peer(ip: impl Into<IpAddr>) -> UdpSocket {
    let socket = UdpSocket::bind((ip.into(), 0)).expect("a port");
    let patience = Some(Duration::from_secs(60));
    socket.set_read_timeout(patience).expect("a timeout");
    socket
}

/// Waits for datagrams and takes them.
fn receive(socket: &Socket, inbox: &mut Inbox) -> usize {
    let poller = crate::Poller::new().expect("descriptors");
    let watched = poller.watch(socket, 0, crate::Interest::Input);
    watched.expect("watched");
    let waited = poller.wait(Some(Duration::from_secs(10)), &mut Vec::new());
    waited.expect("no error");
    socket.receive(inbox).expect("no error")
}

fn lens(peer: &UdpSocket, count: usize) -> Vec<usize> {
    let mut room = [0; 2_048];
    (0..count)
        .map(|_| peer.recv(&mut room).expect("a datagram"))
        .collect()
}

#[test]
fn batches_arrive_with_their_senders() {
    let socket = local();
    let mut inbox = Inbox::default();
    assert_eq!(socket.receive(&mut inbox).expect("no error"), 0);
    let peers: Vec<_> = (0..BATCH + 3).map(|_| peer(LOCALHOST)).collect();
    let mut expected = Vec::new();
    for (number, peer) in peers.iter().enumerate() {
        let sent = peer.send_to(&vec![7; number], socket.address());
        sent.expect("sent");
        expected.push((peer.local_addr().expect("bound"), number));
    }
    let mut found = Vec::new();
    while found.len() < peers.len() {
        receive(&socket, &mut inbox);
        for Datagram { from, to, bytes } in inbox.datagrams() {
            assert_eq!(to, None, "there is one address");
            found.push((from, bytes.len()));
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn what_is_too_long_to_be_honest_is_dropped() {
    let socket = local();
    let mut inbox = Inbox::default();
    let peer = peer(LOCALHOST);
    for len in [2_049, 2_048] {
        peer.send_to(&vec![0; len], socket.address()).expect("sent");
    }
    assert_eq!(receive(&socket, &mut inbox), 2);
    let found: Vec<_> = inbox.datagrams().map(|d| d.bytes.len()).collect();
    assert_eq!((found, inbox.cut()), (vec![2_048], 1));
}

/// On a loopback device the kernel passes a run on uncut if the receiver asks for that; these peers do
/// not, and get datagrams.
#[test]
fn a_run_arrives_as_datagrams_whichever_way_it_is_sent() {
    let mut socket = local();
    assert!(socket.can_segment(), "the kernel of the tests cuts runs");
    let peer = peer(LOCALHOST);
    let to = peer.local_addr().expect("bound");
    let bytes: Vec<u8> = (0..1_200 * 9 + 17).map(|at| at as u8).collect();
    for can_segment in [true, false] {
        socket.can_segment = can_segment;
        assert_eq!(socket.send(to, None, &bytes, 1_200), Sent::Whole);
        let mut room = [0; 2_048];
        for datagram in bytes.chunks(1_200) {
            let (len, from) = peer.recv_from(&mut room).expect("a datagram");
            assert_eq!(from, socket.address());
            assert_eq!(&room[..len], datagram);
        }
    }
    socket.can_segment = true;
    let most = vec![0; SEGMENTS_MAX * 1_000];
    assert_eq!(socket.send(to, None, &most, 1_000), Sent::Whole);
    assert_eq!(lens(&peer, SEGMENTS_MAX), [1_000; SEGMENTS_MAX]);
    // More than a call takes goes out in several.
    socket.can_segment = false;
    assert_eq!(socket.send(to, None, &[0; 100], 1), Sent::Whole);
    assert_eq!(lens(&peer, 100), [1; 100]);
}

#[test]
fn what_is_wrong_is_distinguished() {
    let mut socket = local();
    let peer = peer(LOCALHOST);
    let to = peer.local_addr().expect("bound");
    assert_eq!(socket.send(to, None, &[0; 70_000], 70_000), Sent::TooLong);
    let six = (Ipv6Addr::LOCALHOST, 9).into();
    assert_eq!(socket.send(six, None, b"?", 1), Sent::Unreachable);
    assert_eq!(outcome(Err(Errno::AGAIN)), Sent::Full);
    assert_eq!(outcome(Err(Errno::NOBUFS)), Sent::Exhausted);
    assert_eq!(outcome(Err(Errno::CONNREFUSED)), Sent::Unreachable);
    // The peer is gone; the socket that is left sees no error of it.
    drop(peer);
    assert_eq!(socket.send(to, None, b"?", 1), Sent::Whole);
    assert_eq!(socket.send(to, None, b"?", 1), Sent::Whole);
    assert_eq!(socket.receive(&mut Inbox::default()).expect("no error"), 0);
}

/// Any address of the loopback network is this host's, so a peer may use a second one.
#[test]
fn answers_come_from_the_address_the_peer_used() {
    let four = IpAddr::from(Ipv4Addr::UNSPECIFIED);
    let (six, second) = (IpAddr::from(Ipv6Addr::UNSPECIFIED), [127, 0, 0, 2].into());
    for (any, own, used) in [
        (four, IpAddr::from(LOCALHOST), second),
        (six, LOCALHOST.into(), second),
        (six, Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()),
    ] {
        let mut socket = Socket::bind((any, 0).into()).expect("a port");
        let mut inbox = Inbox::default();
        let peer = peer(own);
        let there = SocketAddr::from((used, socket.address().port()));
        peer.send_to(b"?", there).expect("sent");
        assert_eq!(receive(&socket, &mut inbox), 1);
        let asked = inbox.datagrams().next().expect("a datagram");
        assert_eq!(asked.to, Some(used), "{any}");
        assert_eq!(asked.from, peer.local_addr().expect("bound"));
        let (from, to) = (asked.from, asked.to);
        for can_segment in [true, false] {
            socket.can_segment = can_segment;
            assert_eq!(socket.send(from, to, &[1; 7], 5), Sent::Whole);
            for len in [5, 2] {
                let mut room = [0; 8];
                assert_eq!(peer.recv_from(&mut room).expect("one"), (len, there));
            }
        }
    }
}

#[test]
fn only_sockets_that_say_so_share_a_port() {
    let first = Socket::bind_shared((LOCALHOST, 0).into()).expect("a port");
    let second = Socket::bind_shared(first.address()).expect("shared");
    assert_eq!(first.address(), second.address());
    let third = Socket::bind(first.address()).expect_err("taken");
    assert_eq!(third.kind(), ErrorKind::AddrInUse);
    // Every peer's datagrams reach one of the two, and both are used.
    let mut inbox = Inbox::default();
    let mut heard = [0; 2];
    let peers: Vec<_> = (0..64).map(|_| peer(LOCALHOST)).collect();
    for peer in &peers {
        peer.send_to(b"?", first.address()).expect("sent");
    }
    for (socket, heard) in [&first, &second].into_iter().zip(&mut heard) {
        loop {
            match socket.receive(&mut inbox).expect("no error") {
                0 => break,
                count => *heard += count,
            }
        }
    }
    assert_eq!(heard[0] + heard[1], 64);
    assert!(heard[0] > 0 && heard[1] > 0, "{heard:?}");
}

#[test]
fn the_kernel_holds_more_than_it_would_of_itself() {
    let plain = UdpSocket::bind((LOCALHOST, 0)).expect("a port");
    let usual = SockRef::from(&plain).recv_buffer_size().expect("a size");
    let socket = local();
    let (received, sent) = socket.buffer_sizes().expect("sizes");
    assert!(received >= usual && sent >= usual, "{received} {sent}");
}

#[test]
fn the_way_to_this_host_is_this_host() {
    assert_eq!(local_towards((LOCALHOST, 9).into()), Some(LOCALHOST.into()));
}
