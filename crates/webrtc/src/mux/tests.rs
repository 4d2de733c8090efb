use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use net::panics::Part;
use proptest::prelude::*;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_crypto::{RTCCrypto, RTCRandom};
use rtc_stun::attributes::ATTR_USE_CANDIDATE;

use super::*;
use crate::dtls::tests::Server;
use crate::ice::{RANDOM_LEN, Transport};
use crate::rtcp;
use crate::srtp::{Profile, RtcpOpener, RtcpSealer, Sealer};
use crate::testing::{CM_FIRST, Client, check_request, session};

fn path(port: u16) -> Path {
    Path::udp(([127, 0, 0, 1], port).into())
}

fn credentials(number: u8) -> Credentials {
    Credentials::generate(&[number; RANDOM_LEN])
}

/// A mux, and the time.
fn mux() -> (Mux, Instant) {
    let identity = ServerIdentity::generate().expect("an identity");
    (Mux::new(&identity), Instant::now())
}

/// The other side of one session.
struct Peer {
    path: Path,
    local: Credentials,
    dtls: Client,
}

impl Peer {
    fn new(number: u8, now: Instant) -> Self {
        Self {
            path: path(u16::from(number)),
            local: credentials(number),
            dtls: Client::new(&CM_FIRST, now),
        }
    }

    fn session(&self) -> NewSession {
        session(&self.local, self.dtls.fingerprint, Setup::Passive)
    }

    /// Checks its path and nominates it.
    fn check(&self, mux: &mut Mux, now: Instant) {
        let mut check = check_request(&self.local, "them", &[ATTR_USE_CANDIDATE]);
        assert_eq!(mux.receive(self.path, &mut check, now), Received::Nothing);
    }

    /// Sends the datagrams of its handshake, and takes the replies.
    fn exchange(&mut self, mux: &mut Mux, now: Instant) {
        for _ in 0..10 {
            while let Some(mut datagram) = self.dtls.send() {
                let received = mux.receive(self.path, &mut datagram, now);
                assert_eq!(received, Received::Nothing);
            }
            self.take(mux, now);
        }
    }

    fn take(&mut self, mux: &mut Mux, now: Instant) {
        while let Some(transmit) = mux.poll_transmit() {
            assert_eq!(transmit.path, self.path);
            if transmit.datagram[0] >= 20 {
                self.dtls.receive(&transmit.datagram, now);
            }
        }
    }

    fn connect(number: u8, mux: &mut Mux, now: Instant) -> (Self, Handle) {
        let mut peer = Self::new(number, now);
        let handle = peer.enter(mux, now);
        (peer, handle)
    }

    /// Has its session adopted, and connects.
    fn enter(&mut self, mux: &mut Mux, now: Instant) -> Handle {
        let handle = mux.adopt(self.session(), now).expect("room");
        self.check(mux, now);
        self.exchange(mux, now);
        let (of, event) = mux.poll_event().expect("an event");
        assert_eq!(of, handle);
        let Event::Connected { keys, path } = event else {
            panic!("not connected: {event:?}");
        };
        assert_eq!(path, self.path);
        assert_eq!(keys.local, self.keys().remote);
        handle
    }

    fn keys(&self) -> Keys {
        self.dtls.keys(Profile::Aes128Gcm)
    }

    /// A sealed RTP packet of the peer's.
    fn rtp(&self, index: u64) -> Vec<u8> {
        let mut header = vec![0x80, 96];
        header.extend((index as u16).to_be_bytes());
        header.extend([0, 0, 0, 1, 0, 0, 0, 9]);
        let sealer = Sealer::new(&self.keys()).expect("keys");
        let mut out = vec![0; 100];
        let len = sealer.seal(index, &header, b"sound", &mut out);
        out.truncate(len.expect("sealed"));
        out
    }

    /// Whether a packet of its is taken from this path as its.
    fn is_heard(&self, mux: &mut Mux, from: Path, index: u64, now: Instant) -> bool {
        match mux.receive(from, &mut self.rtp(index), now) {
            Received::Rtp { .. } => true,
            Received::Nothing => false,
            other => panic!("{other:?}"),
        }
    }
}

fn closed(mux: &mut Mux) -> Option<(Handle, CloseReason)> {
    match mux.poll_event()? {
        (handle, Event::Closed { reason }) => Some((handle, reason)),
        other => panic!("not closed: {other:?}"),
    }
}

#[test]
fn a_peer_connects_and_is_heard_and_answered() {
    let (mut mux, now) = mux();
    let (peer, handle) = Peer::connect(1, &mut mux, now);
    assert_eq!(mux.path(handle), Some(peer.path));

    let mut packet = peer.rtp(5);
    let mut again = packet.clone();
    let Received::Rtp {
        session,
        index: 5,
        packet,
    } = mux.receive(peer.path, &mut packet, now)
    else {
        panic!("not RTP");
    };
    assert_eq!((session, &packet[12..]), (handle, &b"sound"[..]));
    assert_eq!(mux.receive(peer.path, &mut again, now), Received::Nothing);

    let mut plain = Vec::new();
    rtcp::write_pli(&mut plain, 1, 2);
    let mut sealed = vec![0; 100];
    let mut sealer = RtcpSealer::new(&peer.keys()).expect("keys");
    let len = sealer.seal(&plain, &mut sealed).expect("sealed");
    let Received::Rtcp { session, packet } = mux.receive(peer.path, &mut sealed[..len], now) else {
        panic!("not RTCP");
    };
    assert_eq!((session, packet), (handle, &plain[..]));

    mux.send_rtcp(handle, &plain).expect("sent");
    let transmit = mux.poll_transmit().expect("a datagram");
    let mut opener = RtcpOpener::new(&peer.keys()).expect("keys");
    let mut datagram = transmit.datagram.to_vec();
    let len = opener.open(&mut datagram).expect("opened");
    assert_eq!((transmit.path, &datagram[..len]), (peer.path, &plain[..]));

    let counters = mux.counters();
    let counted = (counters.checks, counters.connected, counters.srtp_refused);
    assert_eq!(counted, (1, 1, 1));
}

#[test]
fn an_unproved_path_gets_no_handshake() {
    let (mut mux, now) = mux();
    let mut peer = Peer::new(1, now);
    mux.adopt(peer.session(), now).expect("room");
    let mut hello = peer.dtls.send().expect("a hello");
    let mut early = hello.clone();
    assert_eq!(mux.receive(peer.path, &mut early, now), Received::Nothing);
    assert_eq!(mux.poll_transmit(), None);
    assert_eq!(mux.counters().dtls_refused, 1);
    // Nor does another path once one is proved.
    peer.check(&mut mux, now);
    peer.take(&mut mux, now);
    let mut astray = hello.clone();
    assert_eq!(mux.receive(path(99), &mut astray, now), Received::Nothing);
    assert_eq!(mux.poll_transmit(), None);
    assert_eq!(mux.counters().half_open, 0);
    mux.receive(peer.path, &mut hello, now);
    assert!(mux.poll_transmit().is_some());
}

/// A peer that waits for our handshake.
struct Waiting {
    identity: ServerIdentity,
    dtls: Server,
}

impl Waiting {
    /// A peer of the server with this identity.
    fn new(server: &ServerIdentity) -> Self {
        let identity = ServerIdentity::generate().expect("an identity");
        let dtls = Server::with(&identity, *server.fingerprint(), Setup::Passive);
        Self { identity, dtls }
    }

    fn session(&self) -> NewSession {
        let fingerprint = *self.identity.fingerprint();
        session(&credentials(1), fingerprint, Setup::Active)
    }

    /// Takes the handshake's datagrams, which must all come on one path, and replies to them. Returns their number.
    fn exchange(&mut self, mux: &mut Mux, path: Path, now: Instant) -> usize {
        let mut count = 0;
        while let Some(transmit) = mux.poll_transmit() {
            if transmit.datagram[0] < 20 {
                continue;
            }
            assert_eq!(transmit.path, path);
            count += 1;
            let received = self.dtls.receive(&transmit.datagram, now);
            received.expect("no error");
            while let Some((_, datagram)) = self.dtls.acceptor.poll_transmit() {
                mux.receive(path, &mut datagram.to_vec(), now);
            }
        }
        count
    }
}

#[test]
fn a_peer_that_waits_is_called_on_the_path_that_it_proves_and_nominates() {
    let mut now = Instant::now();
    let identity = ServerIdentity::generate().expect("an identity");
    let mut mux = Mux::new(&identity);
    let mut peer = Waiting::new(&identity);
    let handle = mux.adopt(peer.session(), now).expect("room");
    mux.handle_timeout(now);
    assert_eq!(mux.poll_transmit(), None, "no path is proved");
    let check = |mux: &mut Mux, number, flags: &[_], now| {
        let mut check = check_request(&credentials(1), "them", flags);
        mux.receive(path(number), &mut check, now);
    };
    check(&mut mux, 1, &[], now);
    let hello = std::iter::from_fn(|| mux.poll_transmit()).last();
    assert_eq!(hello.map(|hello| hello.path), Some(path(1)));
    // The peer nominates another one before it has received the hello.
    check(&mut mux, 2, &[ATTR_USE_CANDIDATE], now);
    assert_eq!(peer.exchange(&mut mux, path(2), now), 0, "not begun twice");
    now = mux.timeout().expect("a timer");
    mux.handle_timeout(now);
    assert!(peer.exchange(&mut mux, path(2), now) >= 2);
    let (of, event) = mux.poll_event().expect("an event");
    let Event::Connected { keys, path: chosen } = event else {
        panic!("not connected: {event:?}");
    };
    assert_eq!((of, chosen), (handle, path(2)));
    let theirs = peer.dtls.keys.take().expect("connected");
    assert_eq!((keys.local, keys.remote), (theirs.remote, theirs.local));
    assert_eq!(mux.counters().half_open, 0);
    // Checks continue, and the handshake does not begin again.
    check(&mut mux, 3, &[ATTR_USE_CANDIDATE], now);
    assert_eq!(peer.exchange(&mut mux, path(3), now), 0);
}

#[test]
fn a_peer_that_waits_with_another_certificate_is_closed() {
    let now = Instant::now();
    let identity = ServerIdentity::generate().expect("an identity");
    let mut mux = Mux::new(&identity);
    let mut peer = Waiting::new(&identity);
    let other = Waiting::new(&identity);
    let handle = mux.adopt(other.session(), now).expect("room");
    let mut check = check_request(&credentials(1), "them", &[ATTR_USE_CANDIDATE]);
    mux.receive(path(1), &mut check, now);
    peer.exchange(&mut mux, path(1), now);
    let reason = CloseReason::Dtls(dtls::Error::WrongFingerprint);
    assert_eq!(closed(&mut mux), Some((handle, reason)));
    assert_eq!(mux.counters().half_open, 0);
}

#[test]
fn a_change_of_address_is_followed() {
    let (mut mux, now) = mux();
    let (mut peer, handle) = Peer::connect(1, &mut mux, now);
    peer.path = path(2);
    assert!(!peer.is_heard(&mut mux, peer.path, 1, now));
    peer.check(&mut mux, now);
    let (of, event) = mux.poll_event().expect("an event");
    assert!(of == handle && matches!(event, Event::Moved { path } if path == peer.path));
    assert!(peer.is_heard(&mut mux, peer.path, 2, now));
    // What was under way on the old path still counts.
    assert!(peer.is_heard(&mut mux, path(1), 3, now));
    // And the handshake's association has moved along.
    peer.take(&mut mux, now);
    peer.dtls.close(now);
    let mut goodbye = peer.dtls.send().expect("a goodbye");
    mux.receive(peer.path, &mut goodbye, now);
    assert_eq!(closed(&mut mux), Some((handle, CloseReason::PeerClosed)));
}

#[test]
fn an_ice_restart_keeps_the_session() {
    let (mut mux, now) = mux();
    let (mut peer, handle) = Peer::connect(1, &mut mux, now);
    assert!(mux.restart(handle, credentials(9), "them"));
    assert_eq!(mux.find(credentials(9).ufrag()), Some(handle));
    assert_eq!(mux.find(credentials(1).ufrag()), Some(handle));
    peer.check(&mut mux, now);
    peer.take(&mut mux, now);

    peer.local = credentials(9);
    peer.path = path(7);
    peer.check(&mut mux, now);
    assert!(matches!(mux.poll_event(), Some((_, Event::Moved { .. }))));
    assert_eq!(mux.find(credentials(1).ufrag()), None);
    assert!(peer.is_heard(&mut mux, peer.path, 2, now));
}

#[test]
fn ten_idle_minutes_are_survived_and_silence_is_not() {
    let (mut mux, mut now) = mux();
    let (peer, handle) = Peer::connect(1, &mut mux, now);
    for _ in 0..60 {
        now += Duration::from_secs(10);
        peer.check(&mut mux, now);
        mux.handle_timeout(now);
    }
    assert!(mux.poll_event().is_none());
    let last = now;
    let mut wakes = 0;
    let found = loop {
        now = mux.timeout().expect("a timer");
        mux.handle_timeout(now);
        if let Some(found) = closed(&mut mux) {
            break found;
        }
        wakes += 1;
        assert!(wakes < 5);
    };
    assert_eq!(found, (handle, CloseReason::Silent));
    assert_eq!(now, last + Duration::from_secs(30));
    assert!(mux.is_empty() && mux.timeout().is_none());
    assert_eq!(mux.poll_retired().as_deref(), Some(credentials(1).ufrag()));
    assert_eq!(mux.path(handle), None);
}

#[test]
fn a_peer_that_only_sends_is_there_and_a_replay_is_not_it() {
    let (mut mux, mut now) = mux();
    let (peer, handle) = Peer::connect(1, &mut mux, now);
    for index in 0..60 {
        now += Duration::from_secs(10);
        assert!(peer.is_heard(&mut mux, peer.path, index, now));
        mux.handle_timeout(now);
    }
    assert!(mux.poll_event().is_none());
    let later = now + Duration::from_secs(20);
    for (path, index) in [(peer.path, 59), (path(7), 60)] {
        assert!(!peer.is_heard(&mut mux, path, index, later));
    }
    mux.handle_timeout(now + Duration::from_secs(30));
    assert_eq!(closed(&mut mux), Some((handle, CloseReason::Silent)));
}

#[test]
fn a_peer_that_proves_a_path_but_makes_no_keys_is_given_up() {
    let (mut mux, now) = mux();
    let peer = Peer::new(1, now);
    let handle = mux.adopt(peer.session(), now).expect("room");
    let mut later = now;
    while mux.len() == 1 {
        peer.check(&mut mux, later);
        later += Duration::from_secs(5);
        mux.handle_timeout(later);
    }
    assert_eq!(closed(&mut mux), Some((handle, CloseReason::NotConnected)));
    assert_eq!(later, now + Duration::from_secs(20));
}

#[test]
fn a_handshake_that_gives_way_ends_its_session() {
    let (mut mux, now) = mux();
    let mut client = Client::new(&CM_FIRST, now);
    let hello = client.send().expect("a hello");
    let mut handles = Vec::new();
    // One more than an address may have.
    for number in 0..257_u16 {
        let mut seed = [0; RANDOM_LEN];
        // Few bits each, as each becomes one letter.
        (seed[0], seed[1]) = ((number & 31) as u8, (number >> 5) as u8);
        let local = Credentials::generate(&seed);
        let session = session(&local, client.fingerprint, Setup::Passive);
        handles.push(mux.adopt(session, now).expect("room"));
        let mut check = check_request(&local, "them", &[ATTR_USE_CANDIDATE]);
        mux.receive(path(number), &mut check, now);
        mux.receive(path(number), &mut hello.clone(), now);
    }
    let reason = CloseReason::Dtls(dtls::Error::Busy);
    assert_eq!(closed(&mut mux), Some((handles[0], reason)));
    assert_eq!(closed(&mut mux), None);
    assert_eq!(mux.counters().half_open, 256);
    assert_eq!(mux.len(), 256);
}

#[test]
fn a_peer_with_another_certificate_is_closed_and_counted() {
    let (mut mux, now) = mux();
    let mut peer = Peer::new(1, now);
    let other = Peer::new(1, now);
    let handle = mux.adopt(other.session(), now).expect("room");
    peer.check(&mut mux, now);
    peer.exchange(&mut mux, now);
    let reason = CloseReason::Dtls(dtls::Error::WrongFingerprint);
    assert_eq!(closed(&mut mux), Some((handle, reason)));
    let counters = mux.counters();
    assert_eq!((counters.connected, counters.handshakes_failed), (0, 1));
    assert_eq!(counters.half_open, 0);
}

#[test]
fn a_slot_is_used_again_but_not_its_handle() {
    let (mut mux, now) = mux();
    let (mut peer, first) = Peer::connect(1, &mut mux, now);
    let mut late = peer.rtp(9);
    assert!(mux.close(first, now));
    peer.take(&mut mux, now);
    assert!(peer.dtls.is_closed);
    assert!(!mux.close(first, now) && !mux.restart(first, credentials(8), "them"));

    let (_, second) = Peer::connect(1, &mut mux, now);
    assert_eq!(second.slot, first.slot);
    assert_ne!(second, first);
    assert_eq!(mux.path(first), None);
    let sent = mux.send_rtcp(first, &[0x80, 201, 0, 1, 0, 0, 0, 1]);
    assert_eq!(sent, Err(RtcpError::NotConnected));
    assert_eq!(mux.receive(path(1), &mut late, now), Received::Nothing);
    assert!(mux.poll_event().is_none());
}

#[test]
fn workers_share_a_port() {
    let now = Instant::now();
    let directory = Directory::default();
    let mut workers = [mux().0, mux().0];
    let mut peer = Peer::new(1, now);
    let offered = directory.offer(peer.local.ufrag(), peer.session(), now);
    offered.expect("room");

    // Worker 1 receives the first check, and adopts the session.
    let check = check_request(&peer.local, "them", &[ATTR_USE_CANDIDATE]);
    let mut datagram = check.clone();
    let Received::Unknown { ufrag } = workers[1].receive(peer.path, &mut datagram, now) else {
        panic!("not unknown");
    };
    let Claim::Adopted(session) = directory.claim(ufrag, 1) else {
        panic!("not adopted");
    };
    workers[1].adopt(session, now).expect("room");
    peer.check(&mut workers[1], now);
    peer.exchange(&mut workers[1], now);
    let connected = workers[1].poll_event();
    assert!(matches!(connected, Some((_, Event::Connected { .. }))));

    // After a change of address worker 0 receives from the peer, and passes on.
    peer.path = path(2);
    let mut datagram = check.clone();
    let Received::Unknown { ufrag } = workers[0].receive(peer.path, &mut datagram, now) else {
        panic!("not unknown");
    };
    assert_eq!(directory.claim(ufrag, 0).owner(), Some(1));
    workers[0].route(peer.path, 1);
    peer.check(&mut workers[1], now);
    let moved = workers[1].poll_event();
    assert!(matches!(moved, Some((_, Event::Moved { .. }))));
    for mut datagram in [check, peer.rtp(1), vec![22; 20]] {
        let found = workers[0].receive(peer.path, &mut datagram, now);
        assert_eq!(found, Received::Elsewhere { worker: 1 });
    }
    assert!(peer.is_heard(&mut workers[1], peer.path, 1, now));
}

impl<T> Claim<T> {
    fn owner(self) -> Option<u16> {
        match self {
            Self::Owned(worker) => Some(worker),
            _ => None,
        }
    }
}

#[test]
fn a_path_belongs_to_the_peer_that_proved_it_last() {
    let (mut mux, now) = mux();
    let (first, _) = Peer::connect(1, &mut mux, now);
    let mut second = Peer::new(2, now);
    second.path = first.path;
    let handle = second.enter(&mut mux, now);
    assert!(!first.is_heard(&mut mux, first.path, 1, now));
    assert!(matches!(
        mux.receive(second.path, &mut second.rtp(1), now),
        Received::Rtp { session, .. } if session == handle
    ));
}

#[test]
fn a_closed_connection_is_no_longer_a_path() {
    let (mut mux, now) = mux();
    let mut peer = Peer::new(1, now);
    peer.path.transport = Transport::Tcp;
    let handle = peer.enter(&mut mux, now);
    assert_eq!(mux.path(handle), Some(peer.path));
    mux.forget_path(peer.path);
    assert_eq!(mux.path(handle), None);
    assert!(!peer.is_heard(&mut mux, peer.path, 1, now));
    // The peer opens another connection.
    peer.path = Path::tcp(([127, 0, 0, 1], 2).into());
    peer.check(&mut mux, now);
    assert_eq!(mux.path(handle), Some(peer.path));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn strangers_are_not_answered(
        datagrams in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..200), 1u16..4), 1..30),
    ) {
        let (mut mux, now) = mux();
        let (_, handle) = Peer::connect(1, &mut mux, now);
        for (mut datagram, port) in datagrams {
            let found = mux.receive(path(port), &mut datagram, now);
            let harmless = matches!(found, Received::Nothing | Received::Unknown { .. });
            prop_assert!(harmless);
            prop_assert_eq!(mux.poll_transmit(), None);
        }
        prop_assert!(mux.poll_event().is_none());
        prop_assert_eq!(mux.path(handle), Some(path(1)));
    }
}

/// Primitives that panic on demand: from the mux's side, the libraries for DTLS and STUN do.
struct Fragile {
    audio: AwsLcRsProvider,
    is_broken: AtomicBool,
}

impl RTCCryptoProvider for Fragile {
    fn name(&self) -> &'static str {
        self.audio.name()
    }

    fn crypto(&self) -> &dyn RTCCrypto {
        let is_broken = self.is_broken.load(Ordering::Relaxed);
        assert!(!is_broken, "a defect of the library");
        self.audio.crypto()
    }

    fn random(&self) -> &dyn RTCRandom {
        self.audio.random()
    }
}

#[test]
fn a_panic_of_the_libraries_costs_one_session_or_one_check() {
    panics::install_hook();
    let now = Instant::now();
    let fragile = Arc::new(Fragile {
        audio: AwsLcRsProvider::new(),
        is_broken: AtomicBool::new(false),
    });
    let breaks = |is_broken| fragile.is_broken.store(is_broken, Ordering::Relaxed);
    let mut mux = Mux::new(&ServerIdentity::with_provider(fragile.clone()).expect("an identity"));
    let (present, _) = Peer::connect(1, &mut mux, now);

    // Within a handshake.
    let mut peer = Peer::new(2, now);
    let handle = mux.adopt(peer.session(), now).expect("room");
    peer.check(&mut mux, now);
    let panics = Part::Webrtc.panics();
    breaks(true);
    peer.exchange(&mut mux, now);
    breaks(false);
    assert!(Part::Webrtc.panics() > panics);
    assert_eq!(closed(&mut mux), Some((handle, CloseReason::Panicked)));
    assert_eq!((mux.len(), mux.counters().half_open), (1, 0));
    assert_eq!(mux.poll_retired().as_deref(), Some(peer.local.ufrag()));

    // Within a check, which could be forged.
    let refused = mux.counters().checks_refused;
    breaks(true);
    present.check(&mut mux, now);
    breaks(false);
    assert_eq!(mux.counters().checks_refused, refused + 1);
    assert!(mux.poll_event().is_none() && mux.poll_transmit().is_none());

    // All other sessions continue, and new ones are admitted.
    let mut packet = present.rtp(5);
    let received = mux.receive(present.path, &mut packet, now);
    assert!(matches!(received, Received::Rtp { index: 5, .. }));
    Peer::connect(3, &mut mux, now);
}
