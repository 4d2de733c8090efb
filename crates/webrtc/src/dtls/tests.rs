use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rtc_dtls::extension::extension_use_srtp::SrtpProtectionProfile;

use super::flight::tests::record;
use super::guard::Guard;
use super::*;
use crate::sdp::{Fingerprint, Setup};
use crate::srtp::{Keys, Profile};
use crate::testing::{CM_FIRST, Client};

const KEY: Key = Key(7);
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Our side, mostly the server's, and its one association.
pub(crate) struct Server {
    pub(crate) acceptor: Acceptor,
    association: Association,
    pub(crate) keys: Option<Keys>,
}

impl Server {
    fn new(client: &Client) -> Self {
        let identity = ServerIdentity::generate().expect("an identity");
        Self::with(&identity, client.fingerprint, Setup::Passive)
    }

    pub(crate) fn with(identity: &ServerIdentity, expected: Fingerprint, setup: Setup) -> Self {
        Self {
            acceptor: Acceptor::new(identity),
            association: Association::new(KEY, expected, setup),
            keys: None,
        }
    }

    pub(crate) fn receive(&mut self, datagram: &[u8], now: Instant) -> Result<(), Error> {
        let progress = self
            .acceptor
            .receive(&mut self.association, HERE, datagram, now)?;
        if let Progress::Connected(keys) = progress {
            self.keys = Some(keys);
        }
        Ok(())
    }

    fn send(&mut self, client: &mut Client, now: Instant) {
        while let Some((key, datagram)) = self.acceptor.poll_transmit() {
            assert_eq!(key, KEY);
            client.receive(&datagram, now);
        }
    }

    /// With a client of browsers' profiles.
    fn connected(now: Instant) -> (Self, Client) {
        let mut client = Client::new(&CM_FIRST, now);
        let mut server = Self::new(&client);
        handshake(&mut client, &mut server, usize::MAX).expect("no error");
        (server, client)
    }

    /// The client says goodbye, which is heard.
    fn hear_goodbye(&mut self, client: &mut Client, now: Instant) {
        client.close(now);
        let goodbye = client.send().expect("a goodbye");
        let (acceptor, association) = (&mut self.acceptor, &mut self.association);
        let progress = acceptor.receive(association, HERE, &goodbye, now);
        assert!(matches!(progress, Ok(Progress::Closed)));
    }
}

/// Runs a handshake to its end. `split` is how many bytes of a ClientHello one datagram may carry.
fn handshake(client: &mut Client, server: &mut Server, split: usize) -> Result<(), Error> {
    let now = Instant::now();
    let mut next = 0;
    for _ in 0..10 {
        while let Some(datagram) = client.send() {
            for mut part in fragments(&datagram, split) {
                if split < usize::MAX {
                    renumber(&mut part, &mut next);
                }
                server.receive(&part, now)?;
            }
        }
        server.send(client, now);
    }
    Ok(())
}

/// Gives each readable record the next number: there are more of them than the client knows of.
fn renumber(datagram: &mut [u8], next: &mut u8) {
    let mut at = 0;
    while at < datagram.len() {
        if datagram[at + 3..at + 5] == [0, 0] {
            datagram[at + 5..at + 11].copy_from_slice(&[0, 0, 0, 0, 0, *next]);
            *next += 1;
        }
        at += 13 + usize::from(u16::from_be_bytes([datagram[at + 11], datagram[at + 12]]));
    }
}

/// Spreads a datagram that is one ClientHello over several, the last fragment first.
fn fragments(datagram: &[u8], split: usize) -> Vec<Vec<u8>> {
    const HEADERS: usize = 25;
    let is_hello = datagram[0] == 22 && datagram[3..5] == [0, 0] && datagram[13] == 1;
    if !is_hello || datagram.len() - HEADERS <= split {
        return vec![datagram.to_vec()];
    }
    let body = &datagram[HEADERS..];
    let mut parts: Vec<Vec<u8>> = body
        .chunks(split)
        .enumerate()
        .map(|(at, chunk)| {
            let mut part = datagram[..HEADERS].to_vec();
            part[11..13].copy_from_slice(&((12 + chunk.len()) as u16).to_be_bytes());
            part[19..22].copy_from_slice(&((at * split) as u32).to_be_bytes()[1..]);
            part[22..25].copy_from_slice(&(chunk.len() as u32).to_be_bytes()[1..]);
            part.extend_from_slice(chunk);
            part
        })
        .collect();
    parts.reverse();
    parts
}

#[test]
fn gcm_is_chosen_though_the_client_prefers_counter_mode() {
    for split in [usize::MAX, 60] {
        let mut client = Client::new(&CM_FIRST, Instant::now());
        let mut server = Server::new(&client);
        handshake(&mut client, &mut server, split).expect("no error");
        assert!(client.is_complete);
        let keys = server.keys.expect("connected");
        let theirs = client.keys(Profile::Aes128Gcm);
        assert_eq!(keys.profile, Profile::Aes128Gcm);
        assert_eq!((keys.local, keys.remote), (theirs.remote, theirs.local));
        assert_eq!(server.acceptor.half_open(), 0);
    }
}

#[test]
fn counter_mode_is_there_for_clients_that_have_nothing_else() {
    let mut client = Client::new(&CM_FIRST[..1], Instant::now());
    let mut server = Server::new(&client);
    handshake(&mut client, &mut server, usize::MAX).expect("no error");
    let keys = server.keys.expect("connected");
    assert_eq!(keys.profile, Profile::Aes128CmSha1_80);
    assert_eq!(keys.remote, client.keys(Profile::Aes128CmSha1_80).local);
}

#[test]
fn without_a_common_profile_there_is_no_handshake() {
    let profiles = [SrtpProtectionProfile::Srtp_Aead_Aes_256_Gcm];
    let mut client = Client::new(&profiles, Instant::now());
    let mut server = Server::new(&client);
    let error = handshake(&mut client, &mut server, usize::MAX);
    assert_eq!(error, Err(Error::NoProfile));
}

#[test]
fn another_certificate_than_the_offers_is_refused() {
    let now = Instant::now();
    let mut client = Client::new(&CM_FIRST, now);
    let mut server = Server::new(&Client::new(&CM_FIRST, now));
    let error = handshake(&mut client, &mut server, usize::MAX);
    assert_eq!(error, Err(Error::WrongFingerprint));
    assert!(server.keys.is_none());
    server.acceptor.close(&mut server.association, now);
    assert_eq!(server.acceptor.half_open(), 0);
}

/// A sender with a forged address must not be able to end an association that has begun.
#[test]
fn a_complete_association_survives_what_is_not_authentic() {
    let now = Instant::now();
    let (mut server, mut client) = Server::connected(now);
    let fatal_alert = [2, 40];
    for epoch in [0, 1, 2] {
        for kind in 19..=26 {
            for body in [&fatal_alert[..], &[0; 40]] {
                let mut record = vec![kind, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 1, 0, 0];
                record.push(body.len() as u8);
                record.extend(body);
                for cut in [record.len(), record.len() - 1, 13, 1] {
                    let received = server.receive(&record[..cut], now);
                    let is_fatal = received.is_err_and(|error| error.is_fatal());
                    assert!(!is_fatal, "{record:?}: {received:?}");
                }
            }
        }
    }
    server.hear_goodbye(&mut client, now);
}

#[test]
fn a_lost_flight_is_sent_again_and_in_the_end_given_up() {
    let mut now = Instant::now();
    let mut client = Client::new(&CM_FIRST, now);
    let mut server = Server::new(&client);
    // A hello, its cookie, and a hello with the cookie; the long flight that follows is lost.
    let hello = client.send().expect("a hello");
    server.receive(&hello, now).expect("no error");
    server.send(&mut client, now);
    let hello = client.send().expect("another hello");
    server.receive(&hello, now).expect("no error");
    while server.acceptor.poll_transmit().is_some() {}
    let mut repetitions = 0;
    let error = loop {
        let (acceptor, association) = (&mut server.acceptor, &mut server.association);
        now = acceptor.timeout(association).expect("a timer");
        if let Err(error) = acceptor.handle_timeout(association, now) {
            break error;
        }
        assert!(server.acceptor.poll_transmit().is_some());
        while server.acceptor.poll_transmit().is_some() {}
        repetitions += 1;
        assert!(repetitions < 20, "it is never given up");
    };
    assert_eq!(error, Error::TimedOut);
    assert!(repetitions >= 5);
}

#[test]
fn handshakes_under_way_are_bounded_and_shared_out() {
    let now = Instant::now();
    let mut client = Client::new(&CM_FIRST, now);
    let hello = client.send().expect("a hello");
    let part = &fragments(&hello, 60)[0];
    let mut server = Server::new(&client);
    let mut associations = Vec::new();
    let mut begin = |server: &mut Server, from: IpAddr| {
        let key = Key(associations.len() as u64);
        let mut association = Association::new(key, client.fingerprint, Setup::Passive);
        let begun = server.acceptor.receive(&mut association, from, part, now);
        associations.push(association);
        begun.expect("a new peer gets a share");
        (key, server.acceptor.poll_evicted())
    };
    let elsewhere = IpAddr::from([203, 0, 113, 1]);
    let (honest, _) = begin(&mut server, elsewhere);
    // An address beyond its share replaces its own oldest; four addresses together replace the
    // oldest of theirs.
    let addresses = [1, 2, 3, 4].map(|host| IpAddr::from([192, 0, 2, host]));
    let mut evicted = Vec::new();
    for _ in 0..400 {
        for from in &addresses {
            let (_, gone) = begin(&mut server, *from);
            evicted.extend(gone);
        }
    }
    let oldest: Vec<_> = (1..=evicted.len() as u64).map(Key).collect();
    assert_eq!(evicted, oldest, "the oldest give way, one after the other");
    assert_eq!(server.acceptor.half_open(), 1_024);
    assert!(!evicted.contains(&honest));
    let (_, gone) = begin(&mut server, IpAddr::from([198, 51, 100, 1]));
    assert!(gone.is_some_and(|key| key != honest), "{gone:?}");
    for association in &mut associations {
        server.acceptor.close(association, now);
    }
    assert_eq!(server.acceptor.half_open(), 0);
}

/// Two sides of which `ours` opens the handshake.
fn waiting() -> (Server, Server) {
    let identity = || ServerIdentity::generate().expect("an identity");
    let (ours, theirs) = (identity(), identity());
    let (mine, other) = (*ours.fingerprint(), *theirs.fingerprint());
    (
        Server::with(&ours, other, Setup::Active),
        Server::with(&theirs, mine, Setup::Passive),
    )
}

/// Carries the datagrams of one side to the other. Each record of a waiting peer is a separate datagram, as OpenSSL sends them.
/// Returns whether there were any.
fn carry(from: &mut Server, to: &mut Server, now: Instant, mut lose: impl FnMut() -> bool) -> bool {
    let mut any = false;
    let is_cut = from.association.setup() == Setup::Passive;
    while let Some((_, datagram)) = from.acceptor.poll_transmit() {
        any = true;
        let mut rest = &datagram[..];
        while !rest.is_empty() {
            let len = match is_cut {
                true => 13 + usize::from(u16::from_be_bytes([rest[11], rest[12]])),
                false => rest.len(),
            };
            let (part, after) = rest.split_at(len);
            rest = after;
            if lose() {
                continue;
            }
            let received = to.receive(part, now);
            let is_fatal = received.is_err_and(|error| error.is_fatal());
            assert!(!is_fatal, "{received:?}");
        }
    }
    any
}

/// Every fifth datagram of either side is lost, a different one each time.
#[test]
fn a_handshake_that_we_open_survives_loss() {
    for seed in 0..40u32 {
        let mut dice = seed;
        let mut is_lost = || {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (dice >> 16) % 5 == 0
        };
        let start = Instant::now();
        let mut now = start;
        let (mut ours, mut theirs) = waiting();
        let opened = ours.acceptor.open(&mut ours.association, HERE, now);
        opened.expect("a hello");
        assert_eq!(ours.acceptor.half_open(), 1);
        while ours.keys.is_none() {
            let went = carry(&mut ours, &mut theirs, now, &mut is_lost);
            let came = carry(&mut theirs, &mut ours, now, &mut is_lost);
            if went || came {
                continue;
            }
            let due = |side: &Server| side.acceptor.timeout(&side.association);
            let timers = [due(&ours), due(&theirs)];
            now = timers.into_iter().flatten().min().expect("a timer");
            assert!(now < start + Duration::from_secs(15), "seed {seed}");
            for side in [&mut ours, &mut theirs] {
                let woken = side.acceptor.handle_timeout(&mut side.association, now);
                woken.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        }
        let (ours_keys, their_keys) = (ours.keys.expect("connected"), theirs.keys);
        let their_keys = their_keys.expect("connected");
        assert_eq!(ours_keys.profile, Profile::Aes128Gcm);
        assert_eq!(ours_keys.local, their_keys.remote, "seed {seed}");
        assert_eq!(ours.acceptor.half_open(), 0);
    }
}

#[test]
fn goodbyes_go_both_ways_where_we_opened() {
    let now = Instant::now();
    for we_close in [true, false] {
        let (mut ours, mut theirs) = waiting();
        let opened = ours.acceptor.open(&mut ours.association, HERE, now);
        opened.expect("a hello");
        while carry(&mut ours, &mut theirs, now, || false)
            || carry(&mut theirs, &mut ours, now, || false)
        {}
        let (from, to) = match we_close {
            true => (&mut ours, &mut theirs),
            false => (&mut theirs, &mut ours),
        };
        from.acceptor.close(&mut from.association, now);
        let (_, goodbye) = from.acceptor.poll_transmit().expect("a goodbye");
        let (acceptor, association) = (&mut to.acceptor, &mut to.association);
        let progress = acceptor.receive(association, HERE, &goodbye, now);
        assert!(matches!(progress, Ok(Progress::Closed)), "{progress:?}");
    }
}

#[test]
fn old_fragments_are_forgotten() {
    let now = Instant::now();
    let mut client = Client::new(&CM_FIRST, now);
    let hello = client.send().expect("a hello");
    let parts = fragments(&hello, hello.len() / 2);
    let (last, first) = parts.split_first().expect("parts");
    let mut reader = HelloReader::new(now);
    for part in first {
        assert_eq!(reader.push(part, now), Ok(None));
    }
    let late = now + Duration::from_secs(3);
    assert_eq!(reader.push(last, late), Ok(None));
    let mut offered = None;
    for part in first {
        offered = reader.push(part, late).expect("fits");
    }
    let both = OfferedProfiles {
        gcm: true,
        cm: true,
    };
    assert_eq!(offered, Some(both));
}

#[test]
fn what_the_library_would_keep_is_bounded() {
    let mut guard = Guard::new();
    let record = |sequence, len, offset, body: &[u8]| record(11, sequence, len, offset, body);
    let good = record(1, 3, 0, &[1, 2, 3]);
    // Two fragments in one record would run into each other.
    let mut two = record(1, 30, 0, &[1, 2, 3]);
    two[12] += 15;
    two.extend(&record(1, 30, 3, &[1, 2, 3])[13..]);
    let cut = good[..20].to_vec();
    let behind = [&good[..], &[20]].concat();
    let empty = vec![20, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (bytes, expected) in [
        (good, Ok(())),
        (cut, Err(Error::Flood)),
        (behind, Err(Error::Flood)),
        (empty, Err(Error::Flood)),
        (record(1, 30, 10, &[1, 2, 3]), Ok(())),
        (record(1, 2, 0, &[1, 2, 3]), Err(Error::Flood)),
        (record(1, 30, 28, &[1, 2, 3]), Err(Error::Flood)),
        (record(1, 100_000, 0, &[1]), Err(Error::Flood)),
        (record(99, 3, 0, &[1, 2, 3]), Err(Error::Flood)),
        (record(1, 30, 0, &[]), Err(Error::Flood)),
        (two, Err(Error::Flood)),
    ] {
        assert_eq!(guard.admit(&bytes), expected, "{bytes:?}");
    }
    let fragment = record(2, 1_000, 500, &[1]);
    let [mut encrypted, mut early] =
        [22, 23].map(|kind| vec![kind, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 0]);
    encrypted.extend([&[0, 48][..], &[0; 48]].concat());
    early.extend([&[3, 232][..], &[0; 1_000]].concat());
    for (bytes, fewer_than) in [(fragment, 200), (encrypted, 100), (early, 70)] {
        let admitted = (0..1_000).filter(|_| guard.admit(&bytes).is_ok());
        assert!(admitted.count() < fewer_than, "{fewer_than}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..10),
        shaped in any::<bool>(),
        opened in any::<bool>(),
    ) {
        let now = Instant::now();
        let mut client = Client::new(&CM_FIRST, now);
        let mut server = Server::new(&client);
        let hello = client.send().expect("a hello");
        if opened {
            server.association = Association::new(KEY, client.fingerprint, Setup::Active);
            let opened = server.acceptor.open(&mut server.association, HERE, now);
            opened.expect("a hello");
        } else if shaped {
            server.receive(&hello, now).expect("a good beginning");
        }
        for mut datagram in datagrams {
            if shaped && datagram.len() > 13 {
                datagram[0] = 20 + datagram[0] % 4;
                datagram[1..5].copy_from_slice(&[0xfe, 0xfd, 0, 0]);
                let len = (datagram.len() - 13) as u16;
                datagram[11..13].copy_from_slice(&len.to_be_bytes());
            }
            let _outcome = server.receive(&datagram, now);
        }
        prop_assert!(server.keys.is_none());
    }
}
