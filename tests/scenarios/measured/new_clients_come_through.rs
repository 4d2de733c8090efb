//! A few addresses flood every port at once: sessions that no peer connects to, connections that send nothing, RTMP that stops
//! after its handshake, checks of unknown sessions. A new client from another address is served as before, and present
//! listeners notice nothing.
//!
//! One run compares the time before the flood with the flood, with the same number of listeners and new clients. All addresses
//! are on the loopback, and the flood is bounded in number and time.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testkit::http::Listener;
use testkit::{Clip, Server, need_descriptors};

use crate::support::wire::hello;
use crate::support::{End, connect_from, publish_icecast};

/// Length of each of the two measurements; at its beginning, listeners receive what came in between.
const SPAN: Duration = Duration::from_secs(10);
const SETTLING: Duration = Duration::from_secs(1);
const PRESENT: usize = 20;
/// Pause between two new clients.
const PAUSE: Duration = Duration::from_millis(20);
/// Longest time until a new client is served, at the 99th percentile.
const SERVED_WITHIN: Duration = Duration::from_millis(100);
/// Factor by which gaps may grow: the flood costs processor time, which shows on a small machine.
const GAPS_GROW_MAX: f64 = 1.5;

/// One kind of flood: its addresses, the number of its connections in all, and how many of them stay open.
struct Flood {
    first_host: u8,
    hosts: u8,
    total: u32,
    kept: usize,
}

/// Twice the connections that four addresses may have: all permits are held throughout.
const SILENT: Flood = Flood {
    first_host: 2,
    hosts: 4,
    total: 8_192,
    kept: 4_096,
};
const SESSIONS: Flood = Flood {
    first_host: 2,
    hosts: 4,
    total: 4_096,
    kept: 0,
};
const RTMP: Flood = Flood {
    first_host: 20,
    hosts: 16,
    total: 2_048,
    kept: 16 * 64,
};
const CHECKS: u32 = 40_000;
const NEW_CLIENT: u8 = 200;

const DESCRIPTORS: u64 = 8_192;

#[test]
fn while_few_addresses_flood_every_door() {
    need_descriptors(DESCRIPTORS);
    let server = Server::start();
    let _publisher = publish_icecast(&server, Clip::Mp3, 60, "radio.mp3");
    let mut present: Vec<_> = (0..PRESENT).map(|_| server.listen("/radio.mp3")).collect();
    // The burst came before, and does not count.
    let calm = Look::at(&server, &mut present);
    let stop = AtomicBool::new(false);
    let flooded = thread::scope(|scope| {
        scope.spawn(|| flood(&SILENT, &stop, |host| connect(host, server.addr("http"))));
        scope.spawn(|| flood(&RTMP, &stop, |host| shake_hands(host, server.addr("rtmp"))));
        scope.spawn(|| flood(&SESSIONS, &stop, |host| open_session(host, &server)));
        scope.spawn(|| check_unknown_sessions(server.addr("webrtc"), &stop));
        let _end = End(&stop);
        Look::at(&server, &mut present)
    });
    let metrics = server.metrics();
    let evicted = |reason: &str| {
        let label = format!("reason=\"{reason}\"");
        metrics.sum("carillon_rejected_total", &[&label])
    };
    let all = [
        "limit_pending",
        "limit_pending_per_ip",
        "limit_pending_sessions",
    ]
    .map(evicted);
    println!("99th percentiles: {calm:?}, then {flooded:?}; evicted {all:?}");
    assert!(all.iter().sum::<f64>() > 4_000.0, "no flood: {all:?}");
    assert!(present.iter().all(|listener| !listener.ended()));
    assert!(flooded.served <= SERVED_WITHIN, "{flooded:?}");
    let ratio = flooded.gap.as_secs_f64() / calm.gap.as_secs_f64();
    assert!(ratio <= GAPS_GROW_MAX, "gaps grew {ratio:.2}-fold");
}

/// Delays of new clients and listeners over a while: 99th percentiles.
#[derive(Debug)]
struct Look {
    /// Wait of new clients until they are served.
    served: Duration,
    /// Wait of listeners for the next bytes.
    gap: Duration,
}

impl Look {
    fn at(server: &Server, present: &mut [Listener]) -> Self {
        let begin = Instant::now() + SETTLING;
        let served = thread::scope(|scope| {
            for listener in present.iter_mut() {
                scope.spawn(|| {
                    listener.read_for(SPAN);
                });
            }
            new_clients(server, SPAN)
        });
        let gaps = present.iter().flat_map(|listener| {
            let arrivals = listener.arrivals();
            let first = arrivals.partition_point(|arrival| arrival.at < begin);
            arrivals[first..]
                .windows(2)
                .map(|two| two[1].at - two[0].at)
        });
        Self {
            served: percentile_99(served),
            gap: percentile_99(gaps.collect()),
        }
    }
}

/// Connects new clients, one after the other, on each port in turn; returns each one's wait until it was served.
fn new_clients(server: &Server, span: Duration) -> Vec<Duration> {
    let end = Instant::now() + span;
    let mut waits = Vec::new();
    while Instant::now() < end {
        for serve in [listener, page, player] {
            let began = Instant::now();
            serve(server);
            waits.push(began.elapsed());
            thread::sleep(PAUSE);
        }
    }
    waits
}

/// Requests the radio and waits for the first byte of audio.
fn listener(server: &Server) {
    let answer = ask(server, "/radio.mp3", |answer| {
        answer.windows(4).position(|end| end == b"\r\n\r\n") < answer.len().checked_sub(5)
    });
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "not served");
}

fn page(server: &Server) {
    let answer = ask(server, "/", |_| false);
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "no page");
}

fn ask(server: &Server, path: &str, is_enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut socket = connect(NEW_CLIENT, server.addr("http")).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !is_enough(&answer) {
        match socket.read(&mut piece).unwrap() {
            0 => break,
            length => answer.extend_from_slice(&piece[..length]),
        }
    }
    answer
}

/// Connects to RTMP as far as the server replies to a peer without a key.
fn player(server: &Server) {
    shake_hands(NEW_CLIENT, server.addr("rtmp")).unwrap();
}

/// Runs a flood, evenly, until it is complete or stopped. The server may refuse any of it.
fn flood<T>(flood: &Flood, stop: &AtomicBool, come: impl Fn(u8) -> Option<T>) {
    let apart = SPAN / (flood.total + flood.total / 8);
    let began = Instant::now();
    let mut kept = VecDeque::new();
    for number in 0..flood.total {
        let due = began + apart * number;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let host = flood.first_host + (number % u32::from(flood.hosts)) as u8;
        kept.extend(come(host));
        while kept.len() > flood.kept {
            kept.pop_front();
        }
    }
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(PAUSE);
    }
}

fn connect(host: u8, to: SocketAddr) -> Option<TcpStream> {
    let socket = connect_from([127, 0, 0, host], to, false).ok()?;
    socket.set_nodelay(true).ok()?;
    Some(socket)
}

fn shake_hands(host: u8, to: SocketAddr) -> Option<TcpStream> {
    let mut socket = connect(host, to)?;
    hello(&mut socket).ok()?;
    Some(socket)
}

/// Opens a session and never connects.
fn open_session(host: u8, server: &Server) -> Option<()> {
    let request = format!(
        "POST /radio.mp3/whep HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{OFFER}",
        OFFER.len()
    );
    let mut socket = connect(host, server.addr("http"))?;
    socket.write_all(request.as_bytes()).ok()?;
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).ok()
}

/// Sends connectivity checks (RFC 8445) of a session that does not exist.
fn check_unknown_sessions(to: SocketAddr, stop: &AtomicBool) {
    let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
    let mut check = vec![0, 1, 0, 16, 0x21, 0x12, 0xa4, 0x42];
    check.extend([7; 12]);
    check.extend([0, 6, 0, 11]);
    check.extend(b"nobody:them\0");
    let began = Instant::now();
    for number in 0..CHECKS {
        let due = began + SPAN / CHECKS * number;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            return;
        }
        // A full buffer loses some, as a network would.
        socket.send_to(&check, to).ok();
    }
}

fn percentile_99(mut of: Vec<Duration>) -> Duration {
    of.sort();
    of[(of.len() * 99).div_ceil(100) - 1]
}

/// SDP offer of a listener.
const OFFER: &str = "v=0\r\no=- 4611732854375898212 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
    a=group:BUNDLE 0\r\na=msid-semantic: WMS\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n\
    a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=1\r\nc=IN IP4 0.0.0.0\r\n\
    a=mid:0\r\na=rtcp-mux\r\na=setup:actpass\r\na=ice-ufrag:TdB7\r\n\
    a=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\n\
    a=fingerprint:sha-256 7B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:\
    DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08\r\na=recvonly\r\n";
