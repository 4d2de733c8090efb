use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::unix::process::ExitStatusExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use net::panics::Part;
use rtc_stun::attributes::ATTR_USE_CANDIDATE;

use super::*;
use crate::framing::{self, Deframer};
use crate::ice::{Path, RANDOM_LEN, Transport};
use crate::mux::{CloseReason, Handle};
use crate::sdp::Setup;
use crate::srtp::{Keys, Profile, RtcpOpener, Sealer};
use crate::testing::{self, CM_FIRST, Client, check_request};

const DEADLINE: Duration = Duration::from_secs(60);

/// Datagrams of a run, one byte more than the last of them has.
const RUN: usize = 5;
const SEGMENT: usize = 300;
const RUN_LEN: usize = (RUN - 1) * SEGMENT + 17;

/// A session with this ticket makes the role panic as soon as it has connected.
const UNBEARABLE: u32 = 666;

/// An RTP packet that begins with this makes the role panic.
const DEFECT: u8 = 0xfe;

/// A session with this ticket is sent a packet as soon as it has connected.
const EAGER: u32 = 77;
const GREETING: [u8; 4] = [0x80, 1, 2, 3];

/// The calls that a role received.
#[derive(Debug)]
enum Seen {
    Connected {
        worker: usize,
        ticket: u32,
        keys: Keys,
        path: Path,
    },
    Moved(Path),
    Closed(CloseReason),
    /// An RTP packet's index and payload.
    Rtp(u64, Vec<u8>),
    Ended,
}

/// Reports its calls. Answers an RTP packet with as many runs of datagrams as its first byte says, and a packet that requests
/// none with a report.
struct Echo {
    worker: usize,
    seen: SyncSender<Seen>,
    paths: HashMap<Handle, Path>,
    owed: Vec<(Handle, u8)>,
    woken: Arc<std::sync::atomic::AtomicUsize>,
}

impl Echo {
    fn tell(&self, seen: Seen) {
        self.seen.try_send(seen).expect("the test receives");
    }
}

impl Role for Echo {
    type Ticket = u32;

    fn connected(
        &mut self,
        session: Handle,
        ticket: u32,
        keys: &Keys,
        path: Path,
        _: Instant,
        out: &mut Outbox<'_>,
    ) {
        self.paths.insert(session, path);
        if ticket == EAGER {
            out.buffer()[..GREETING.len()].copy_from_slice(&GREETING);
            let sent = out.send(path, GREETING.len(), GREETING.len());
            assert_eq!(sent, Sent::Sent);
        }
        self.tell(Seen::Connected {
            worker: self.worker,
            ticket,
            keys: keys.clone(),
            path,
        });
        assert_ne!(ticket, UNBEARABLE, "a defect of the role");
    }

    fn moved(&mut self, session: Handle, path: Path) {
        assert!(self.paths.insert(session, path).is_some());
        self.tell(Seen::Moved(path));
    }

    fn closed(&mut self, session: Handle, reason: CloseReason) {
        assert!(self.paths.remove(&session).is_some());
        self.tell(Seen::Closed(reason));
    }

    fn rtp(
        &mut self,
        session: Handle,
        index: u64,
        packet: &[u8],
        _: Instant,
        out: &mut Outbox<'_>,
    ) {
        let payload = packet[12..].to_vec();
        match payload[0] {
            0 => {
                let mut report = Vec::new();
                crate::rtcp::write_pli(&mut report, 1, 2);
                out.rtcp(session, &report);
            }
            0xff => {
                out.close(session);
                self.paths.remove(&session);
            }
            DEFECT => panic!("a defect of the role"),
            runs => self.owed.push((session, runs)),
        }
        self.tell(Seen::Rtp(index, payload));
    }

    fn rtcp(&mut self, _: Handle, _: &[u8], _: Instant, _: &mut Outbox<'_>) {}

    fn turn(&mut self, _: Instant, out: &mut Outbox<'_>) -> Option<Instant> {
        self.woken.fetch_add(1, Ordering::Relaxed);
        while let Some((session, runs)) = self.owed.last_mut() {
            for (at, byte) in out.buffer()[..RUN_LEN].iter_mut().enumerate() {
                *byte = (at / SEGMENT) as u8;
            }
            let Some(path) = self.paths.get(session) else {
                // It ended before everything queued for it was sent.
                self.owed.pop();
                continue;
            };
            match out.send(*path, RUN_LEN, SEGMENT) {
                Sent::Sent => *runs -= 1,
                Sent::Blocked => break,
                Sent::Gone => *runs = 0,
            }
            if *runs == 0 {
                self.owed.pop();
            }
        }
        None
    }

    fn end(&mut self) {
        self.tell(Seen::Ended);
    }
}

/// A port, and what its roles see.
struct Fixture {
    port: Port<u32>,
    seen: Receiver<Seen>,
    wakers: Vec<Waker>,
    woken: Arc<std::sync::atomic::AtomicUsize>,
}

impl Fixture {
    fn open(workers: usize) -> Self {
        let mut config = PortConfig::new((Ipv4Addr::LOCALHOST, 0).into());
        config.workers = workers;
        Self::with(&config)
    }

    fn with(config: &PortConfig) -> Self {
        let (tell, seen) = sync_channel(1_024);
        let woken = Arc::default();
        let mut wakers = Vec::new();
        let identity = ServerIdentity::generate().expect("an identity");
        let port = Port::start(config, identity, |worker, waker| {
            wakers.push(waker);
            Echo {
                worker,
                seen: tell.clone(),
                paths: HashMap::new(),
                owed: Vec::new(),
                woken: Arc::clone(&woken),
            }
        });
        Self {
            port: port.expect("opened"),
            seen,
            wakers,
            woken,
        }
    }

    fn next(&self) -> Seen {
        self.seen.recv_timeout(DEADLINE).expect("news")
    }

    fn nothing_more(&self) {
        let more = self.seen.try_recv();
        assert!(more.is_err(), "{more:?}");
    }

    /// Expects that the role hears a packet next.
    fn hear(&self, index: u64) {
        let seen = self.next();
        assert!(matches!(seen, Seen::Rtp(of, _) if of == index), "{seen:?}");
    }

    /// Has a peer request a run, and receive it.
    fn serve(&self, peer: &mut Peer, index: u64) {
        peer.send(index, &[1]);
        self.hear(index);
        peer.wire.take_run();
    }

    /// Expects that a session ends next, for this reason.
    fn close(&self, reason: CloseReason) {
        let seen = self.next();
        assert!(matches!(seen, Seen::Closed(of) if of == reason), "{seen:?}");
    }

    /// Expects a session with this number for a ticket, and makes its peer.
    fn expect(&self, ticket: u32) -> (Credentials, Client) {
        let local = Credentials::generate(&[ticket as u8; RANDOM_LEN]);
        let dtls = Client::new(&CM_FIRST, Instant::now());
        let session = session(&local, dtls.fingerprint);
        self.port.expect(session, ticket).expect("room");
        (local, dtls)
    }

    /// A peer that has connected over UDP.
    fn udp_peer(&self, ticket: u32) -> Peer {
        let (local, dtls) = self.expect(ticket);
        let wire = Wire::udp(self.port.address());
        Peer::connect(wire, local, dtls, self)
    }

    /// A peer that has connected over TCP.
    fn tcp_peer(&self, ticket: u32) -> Peer {
        let (local, dtls) = self.expect(ticket);
        let wire = Wire::tcp(self.port.address());
        Peer::connect(wire, local, dtls, self)
    }

    /// A peer over TCP that reads nothing of many runs, so that its connection is full. Returns the number of runs, too.
    fn full_peer(&self) -> (Peer, usize) {
        let mut peer = self.tcp_peer(1);
        let sends = 60;
        for index in 0..sends {
            peer.send(index, &[100]);
            self.hear(index);
        }
        eventually("it is full", || self.port.counters().blocked > 0);
        (peer, sends as usize * 100)
    }
}

fn session(local: &Credentials, fingerprint: Fingerprint) -> NewSession {
    testing::session(local, fingerprint, Setup::Passive)
}

/// Waits for something that other threads bring about.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Connection of a peer to the port.
enum Wire {
    Udp(UdpSocket),
    Tcp(TcpStream, Deframer, Vec<Vec<u8>>),
}

impl Wire {
    fn udp(to: SocketAddr) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        socket.set_read_timeout(Some(DEADLINE)).expect("an option");
        socket.connect(to).expect("a way");
        Self::Udp(socket)
    }

    fn tcp(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).expect("connected");
        stream.set_read_timeout(Some(DEADLINE)).expect("an option");
        Self::Tcp(stream, Deframer::default(), Vec::new())
    }

    fn path(&self) -> (SocketAddr, Transport) {
        match self {
            Self::Udp(socket) => (socket.local_addr().expect("bound"), Transport::Udp),
            Self::Tcp(stream, ..) => (stream.local_addr().expect("bound"), Transport::Tcp),
        }
    }

    fn send(&mut self, datagram: &[u8]) {
        match self {
            Self::Udp(socket) => {
                socket.send(datagram).expect("sent");
            }
            Self::Tcp(stream, ..) => {
                let header = framing::header(datagram.len()).expect("short");
                let sent = stream.write_all(&[&header, datagram].concat());
                sent.expect("sent");
            }
        }
    }

    /// The next datagram; `None` when the port has hung up.
    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut room = [0; 2_048];
        match self {
            Self::Udp(socket) => {
                let len = socket.recv(&mut room).expect("a datagram");
                Some(room[..len].to_vec())
            }
            Self::Tcp(stream, deframer, found) => {
                while found.is_empty() {
                    let len = match stream.read(&mut room) {
                        Ok(len) => len,
                        Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
                        Err(error) => panic!("{error}"),
                    };
                    if len == 0 {
                        return None;
                    }
                    let pushed =
                        deframer.push(&mut room[..len], |datagram| found.push(datagram.to_vec()));
                    pushed.expect("framed");
                }
                Some(found.remove(0))
            }
        }
    }

    /// Sends a check for a session on this path, nominates it, and waits for the answer.
    fn check(&mut self, local: &Credentials) {
        self.send(&check_request(local, "them", &[ATTR_USE_CANDIDATE]));
        let answer = self.receive().expect("an answer");
        assert_eq!(answer[..2], [1, 1], "a success");
    }

    /// Takes a run of datagrams.
    fn take_run(&mut self) {
        for number in 0..RUN {
            let datagram = self.receive().expect("a datagram");
            let expected = if number + 1 < RUN { SEGMENT } else { 17 };
            assert_eq!((datagram.len(), datagram[0]), (expected, number as u8));
        }
    }
}

/// A peer whose session has keys.
struct Peer {
    wire: Wire,
    local: Credentials,
    dtls: Client,
    sealer: Sealer,
}

impl Peer {
    fn connect(mut wire: Wire, local: Credentials, mut dtls: Client, fixture: &Fixture) -> Self {
        wire.check(&local);
        while !dtls.is_complete {
            while let Some(datagram) = dtls.send() {
                wire.send(&datagram);
            }
            let datagram = wire.receive().expect("an answer");
            assert!(datagram[0] < 64, "media before there are keys for it");
            if datagram[0] >= 20 {
                dtls.receive(&datagram, Instant::now());
            }
        }
        // Its last flight, if the other side's arrived first.
        while let Some(datagram) = dtls.send() {
            wire.send(&datagram);
        }
        let Seen::Connected { keys, path, .. } = fixture.next() else {
            panic!("something else");
        };
        let ours = dtls.keys(Profile::Aes128Gcm);
        assert_eq!((&keys.local, &keys.remote), (&ours.remote, &ours.local));
        assert_eq!((path.remote, path.transport), wire.path());
        Self {
            sealer: Sealer::new(&ours).expect("keys"),
            wire,
            local,
            dtls,
        }
    }

    /// Sends an RTP packet with this payload.
    fn send(&mut self, index: u64, payload: &[u8]) {
        let mut header = vec![0x80, 96];
        header.extend((index as u16).to_be_bytes());
        header.extend([0, 0, 0, 1, 0, 0, 0, 9]);
        let mut out = [0; 100];
        let sealed = self.sealer.seal(index, &header, payload, &mut out);
        self.wire.send(&out[..sealed.expect("sealed")]);
    }

    /// Waits for the port's close message.
    fn hear_goodbye(&mut self) {
        while !self.dtls.is_closed {
            let datagram = self.wire.receive().expect("a goodbye");
            if (20..64).contains(&datagram[0]) {
                self.dtls.receive(&datagram, Instant::now());
            }
        }
    }
}

#[test]
fn a_peer_connects_is_heard_and_answered() {
    let fixture = Fixture::open(1);
    let mut peer = fixture.udp_peer(7);
    eventually("it is counted", || fixture.port.sessions() == 1);
    peer.send(5, &[1, 2, 3]);
    assert!(matches!(fixture.next(), Seen::Rtp(5, payload) if payload == [1, 2, 3]));
    peer.wire.take_run();
    peer.send(6, &[0]);
    fixture.hear(6);
    let mut report = peer.wire.receive().expect("a report");
    let keys = peer.dtls.keys(Profile::Aes128Gcm);
    let len = RtcpOpener::new(&keys).expect("keys").open(&mut report);
    assert_eq!(report[1], 206, "{len:?}");
    len.expect("sealed by the session");
}

#[test]
fn the_handshake_is_over_before_media_comes() {
    let fixture = Fixture::open(1);
    let mut peer = fixture.udp_peer(EAGER);
    assert_eq!(peer.wire.receive().expect("a packet"), GREETING);
}

/// Datagrams sent in one call arrive with the right lengths: the run of five was one send.
#[test]
fn a_run_is_one_send() {
    let fixture = Fixture::open(1);
    let mut peer = fixture.udp_peer(1);
    peer.send(1, &[10]);
    for _ in 0..10 {
        peer.wire.take_run();
    }
    // Everything else is sent as one datagram each.
    eventually("all is counted", || {
        let counters = fixture.port.counters();
        counters.datagrams - counters.sends == 10 * (RUN as u64 - 1)
    });
    assert_eq!(fixture.port.counters().lost, 0);
}

#[test]
fn a_peer_may_move_to_where_another_worker_listens() {
    let fixture = Fixture::open(2);
    let mut peer = fixture.udp_peer(1);
    // The kernel chooses the worker by the peer's port, half of them the other one.
    for index in 1..32 {
        peer.wire = Wire::udp(fixture.port.address());
        peer.wire.check(&peer.local);
        let Seen::Moved(path) = fixture.next() else {
            panic!("something else");
        };
        assert_eq!((path.remote, path.transport), peer.wire.path());
        fixture.serve(&mut peer, index);
    }
    let is_passed_on = || fixture.port.counters().forwarded >= 2;
    eventually("some were passed on", is_passed_on);
    assert_eq!(fixture.port.sessions(), 1);
}

#[test]
fn workers_share_the_peers() {
    let fixture = Fixture::open(2);
    let mut workers = [0; 2];
    let mut peers = Vec::new();
    for ticket in 0..16 {
        let (local, dtls) = fixture.expect(ticket);
        let mut wire = Wire::udp(fixture.port.address());
        wire.check(&local);
        peers.push((ticket, wire, local, dtls));
    }
    assert_eq!(fixture.port.counters().forwarded, 0);
    for (ticket, mut wire, _, mut dtls) in peers {
        while !dtls.is_complete {
            while let Some(datagram) = dtls.send() {
                wire.send(&datagram);
            }
            dtls.receive(&wire.receive().expect("an answer"), Instant::now());
        }
        let seen = fixture.next();
        let Seen::Connected {
            worker, ticket: of, ..
        } = seen
        else {
            panic!("{seen:?}");
        };
        assert_eq!(of, ticket);
        workers[worker] += 1;
    }
    assert!(workers[0] > 0 && workers[1] > 0, "{workers:?}");
}

#[test]
fn strangers_get_no_answer_and_do_no_harm() {
    let fixture = Fixture::open(2);
    let mut stranger = Wire::udp(fixture.port.address());
    let mut sent = 0;
    for first in 0..=255 {
        stranger.send(&[first]);
        stranger.send(&[first; 100]);
        stranger.send(&[first; 2_047]);
        sent += 3;
        if first % 16 == 15 {
            // No more at once than any kernel holds.
            eventually("all arrive", || fixture.port.counters().received == sent);
        }
    }
    stranger.send(&[]);
    stranger.send(&[0; 60_000]);
    let unknown = Credentials::generate(&[200; RANDOM_LEN]);
    stranger.send(&check_request(&unknown, "them", &[ATTR_USE_CANDIDATE]));
    let mut hello = Client::new(&CM_FIRST, Instant::now());
    while let Some(datagram) = hello.send() {
        stranger.send(&datagram);
    }
    // A check of an existing session, by a peer without the password.
    let (local, dtls) = fixture.expect(1);
    let forged = Credentials::parse(local.ufrag(), &"x".repeat(24)).expect("well formed");
    stranger.send(&check_request(&forged, "them", &[ATTR_USE_CANDIDATE]));
    let mut peer = Peer::connect(Wire::udp(fixture.port.address()), local, dtls, &fixture);
    fixture.serve(&mut peer, 1);
    eventually("all are counted", || {
        let counters = fixture.port.counters();
        counters.oversized == 1 && counters.mux.checks_refused > 0
    });
    assert!(fixture.port.counters().mux.dtls_refused > 0);
    let Wire::Udp(stranger) = stranger else {
        panic!("it is UDP");
    };
    stranger.set_nonblocking(true).expect("an option");
    let answer = stranger.recv(&mut [0; 100]).map_err(|error| error.kind());
    assert_eq!(answer, Err(ErrorKind::WouldBlock));
    fixture.nothing_more();
}

#[test]
fn a_peer_connects_over_tcp() {
    let fixture = Fixture::open(2);
    let mut peer = fixture.tcp_peer(1);
    fixture.serve(&mut peer, 3);
    assert_eq!(fixture.port.counters().connections, 1);
    // It hangs up and connects again over another path.
    peer.wire = Wire::udp(fixture.port.address());
    peer.wire.check(&peer.local);
    assert!(matches!(fixture.next(), Seen::Moved(_)));
    fixture.serve(&mut peer, 4);
}

/// The kernel gives a connection to either worker. The one that has the session takes it over.
#[test]
fn a_connection_goes_to_the_worker_that_has_its_session() {
    let fixture = Fixture::open(2);
    let mut peer = fixture.udp_peer(1);
    for index in 1..24 {
        peer.wire = Wire::tcp(fixture.port.address());
        peer.wire.check(&peer.local);
        assert!(matches!(fixture.next(), Seen::Moved(_)));
        fixture.serve(&mut peer, index);
    }
    let is_passed_on = || fixture.port.counters().forwarded > 0;
    eventually("some were passed on", is_passed_on);
}

#[test]
fn connections_of_no_session_are_closed() {
    let fixture = Fixture::open(1);
    let unknown = Credentials::generate(&[200; RANDOM_LEN]);
    let (local, _) = fixture.expect(1);
    let forged = Credentials::parse(local.ufrag(), &"x".repeat(24)).expect("well formed");
    let framed = |credentials| {
        let check = check_request(credentials, "them", &[]);
        let mut bytes = framing::header(check.len()).expect("short").to_vec();
        bytes.extend(check);
        bytes
    };
    for opening in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0, 0],
        vec![0, 3, 22, 254, 253],
        vec![255; 4_096],
        framed(&unknown),
        framed(&forged),
    ] {
        let mut stream = TcpStream::connect(fixture.port.address()).expect("connected");
        stream.set_read_timeout(Some(DEADLINE)).expect("an option");
        stream.write_all(&opening).expect("sent");
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        assert_eq!(answer, [], "{opening:?}");
    }
    let are_counted = || fixture.port.counters().connections_refused == 6;
    eventually("all are counted", are_counted);
    fixture.nothing_more();
}

/// A peer that reads nothing is sent nothing more, and all of it when it reads again.
#[test]
fn a_full_connection_blocks_and_continues() {
    let fixture = Fixture::open(1);
    let (mut peer, runs) = fixture.full_peer();
    for _ in 0..runs {
        peer.wire.take_run();
    }
    assert_eq!(fixture.port.counters().lost, 0);
}

#[test]
fn a_session_gets_other_names_and_continues() {
    let fixture = Fixture::open(2);
    // A session whose peer has not arrived.
    let (former, dtls) = fixture.expect(1);
    let local = Credentials::generate(&[101; RANDOM_LEN]);
    assert!(fixture.port.restart(former.ufrag(), local.clone(), "them"));
    assert!(!fixture.port.restart(former.ufrag(), local.clone(), "them"));
    let wire = Wire::udp(fixture.port.address());
    let mut peer = Peer::connect(wire, local, dtls, &fixture);
    // And one that is connected.
    let local = Credentials::generate(&[102; RANDOM_LEN]);
    let ufrag = peer.local.ufrag().to_owned();
    assert!(fixture.port.restart(&ufrag, local.clone(), "them"));
    peer.wire = Wire::udp(fixture.port.address());
    // The check may reach the worker before the new names do; a peer then repeats it, as this does.
    eventually("the new names hold", || {
        let mut wire = Wire::udp(fixture.port.address());
        let Wire::Udp(socket) = &wire else {
            return false;
        };
        let timeout = Some(Duration::from_millis(100));
        socket.set_read_timeout(timeout).expect("an option");
        wire.send(&check_request(&local, "them", &[ATTR_USE_CANDIDATE]));
        let Wire::Udp(socket) = &wire else {
            return false;
        };
        let is_answered = socket.recv(&mut [0; 500]).is_ok();
        peer.wire = wire;
        is_answered
    });
    let directory = &fixture.port.0.shared.directory;
    eventually("the former name is struck out", || {
        matches!(directory.claim(&ufrag, u16::MAX), Claim::Unknown)
    });
    peer.send(1, &[1]);
    loop {
        match fixture.next() {
            Seen::Moved(_) => {}
            Seen::Rtp(1, _) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(fixture.port.close(local.ufrag()));
    fixture.close(CloseReason::Requested);
}

#[test]
fn sessions_end_however_they_are_ended() {
    let fixture = Fixture::open(1);
    // Before its peer arrived.
    let (local, _) = fixture.expect(1);
    assert!(fixture.port.close(local.ufrag()));
    assert!(!fixture.port.close(local.ufrag()));
    // By request.
    let mut peer = fixture.udp_peer(2);
    assert!(fixture.port.close(peer.local.ufrag()));
    fixture.close(CloseReason::Requested);
    peer.hear_goodbye();
    let is_forgotten = || !fixture.port.close(peer.local.ufrag());
    eventually("it is forgotten", is_forgotten);
    // By the role.
    let mut peer = fixture.udp_peer(3);
    peer.send(1, &[0xff]);
    fixture.hear(1);
    peer.hear_goodbye();
    // By the peer.
    let mut peer = fixture.udp_peer(4);
    peer.dtls.close(Instant::now());
    while let Some(datagram) = peer.dtls.send() {
        peer.wire.send(&datagram);
    }
    fixture.close(CloseReason::PeerClosed);
    eventually("no session is left", || fixture.port.sessions() == 0);
    fixture.nothing_more();
    assert!(fixture.port.0.shared.directory.is_empty());
}

#[test]
fn a_session_without_a_peer_is_given_up() {
    let fixture = Fixture::open(2);
    let local = Credentials::generate(&[1; RANDOM_LEN]);
    let session = session(&local, *fixture.port.fingerprint());
    let ufrag = local.ufrag().to_owned();
    let long_ago = Instant::now() - Duration::from_secs(30);
    let expected = Expected { session, ticket: 1 };
    let shared = &fixture.port.0.shared;
    let offered = shared.directory.offer(&ufrag, expected, long_ago);
    offered.expect("room");
    eventually("it is given up", || fixture.port.counters().expired == 1);
    assert!(shared.directory.is_empty());
    fixture.nothing_more();
}

#[test]
fn the_port_says_goodbye_and_can_be_opened_again() {
    let fixture = Fixture::open(2);
    let mut peer = fixture.udp_peer(1);
    let address = fixture.port.address();
    let config = PortConfig::new(address);
    let identity = ServerIdentity::generate().expect("an identity");
    let taken = Port::start(&config, identity, |_, _| -> Echo {
        panic!("it does not start")
    });
    let taken = taken.map(drop).map_err(|error| error.kind());
    assert_eq!(taken, Err(ErrorKind::AddrInUse));
    fixture.port.stop();
    for _ in 0..2 {
        assert!(matches!(fixture.next(), Seen::Ended));
    }
    peer.hear_goodbye();
    let session = session(&peer.local, peer.dtls.fingerprint);
    assert_eq!(fixture.port.expect(session, 2), Err(Full));
    let gone = fixture.seen.recv_timeout(DEADLINE);
    let is_gone = matches!(gone, Err(RecvTimeoutError::Disconnected));
    assert!(is_gone, "{gone:?}");
    let again = Fixture::with(&config);
    again.udp_peer(3);
    // A port without any owner is closed.
    let Fixture { port, seen, .. } = again;
    drop(port);
    assert!(matches!(seen.recv_timeout(DEADLINE), Ok(Seen::Ended)));
}

/// A worker wakes up by itself once a second, which would be too seldom for this many turns.
#[test]
fn a_waker_gives_its_worker_a_turn() {
    let fixture = Fixture::open(1);
    let start = Instant::now();
    for _ in 0..100 {
        let before = fixture.woken.load(Ordering::Relaxed);
        fixture.wakers[0].wake_by_ref();
        eventually("a turn", || fixture.woken.load(Ordering::Relaxed) > before);
    }
    assert!(start.elapsed() < DEADLINE);
}

#[test]
fn a_panic_over_what_a_peer_sends_ends_its_session_and_no_other() {
    net::panics::install_hook();
    let fixture = Fixture::open(1);
    let mut other = fixture.udp_peer(1);
    let panics = Part::Webrtc.panics();
    let mut peer = fixture.udp_peer(2);
    peer.send(1, &[DEFECT]);
    fixture.close(CloseReason::Panicked);
    peer.hear_goodbye();
    // The same when it happens before the role knows of the session.
    let mut peer = fixture.udp_peer(UNBEARABLE);
    fixture.close(CloseReason::Panicked);
    peer.hear_goodbye();
    assert!(Part::Webrtc.panics() >= panics + 2);
    fixture.serve(&mut other, 1);
    eventually("the others are forgotten", || fixture.port.sessions() == 1);
    fixture.udp_peer(3);
}

/// A peer leaves before everything that the role sent it has been written.
#[test]
fn what_is_owed_to_a_peer_that_has_gone_is_forgotten() {
    let fixture = Fixture::open(1);
    // More than its connection takes, so that data is queued when it is closed.
    let (peer, _) = fixture.full_peer();
    assert!(fixture.port.close(peer.local.ufrag()));
    fixture.close(CloseReason::Requested);
    // The role still gets turns, and other peers are served.
    let mut other = fixture.udp_peer(2);
    fixture.serve(&mut other, 1);
}

/// A role that panics.
struct Broken;

impl Role for Broken {
    type Ticket = ();

    fn connected(&mut self, _: Handle, (): (), _: &Keys, _: Path, _: Instant, _: &mut Outbox<'_>) {}
    fn moved(&mut self, _: Handle, _: Path) {}
    fn closed(&mut self, _: Handle, _: CloseReason) {}
    fn rtp(&mut self, _: Handle, _: u64, _: &[u8], _: Instant, _: &mut Outbox<'_>) {}
    fn rtcp(&mut self, _: Handle, _: &[u8], _: Instant, _: &mut Outbox<'_>) {}
    fn turn(&mut self, _: Instant, _: &mut Outbox<'_>) -> Option<Instant> {
        panic!("a defect")
    }
    fn end(&mut self) {}
}

/// This test starts itself again in a child process, which may end.
#[test]
fn a_worker_that_panics_ends_the_process() {
    const INNER: &str = "CARILLON_TEST_BROKEN_ROLE";
    const NAME: &str = "port::tests::a_worker_that_panics_ends_the_process";
    if std::env::var_os(INNER).is_some() {
        let config = PortConfig::new((Ipv4Addr::LOCALHOST, 0).into());
        let identity = ServerIdentity::generate().expect("an identity");
        let port = Port::start(&config, identity, |_, _| Broken).expect("opened");
        thread::sleep(DEADLINE);
        drop(port);
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program)
        .args(["--exact", NAME, "--nocapture"])
        .env(INNER, "1")
        .output()
        .expect("run");
    const SIGABRT: i32 = 6;
    assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("a defect"), "{words}");
}
