use std::time::{Duration, Instant};

use super::*;
use crate::dtls::ServerIdentity;
use crate::ice::{Credentials, Path, RANDOM_LEN, Transport};
use crate::mux::{self, Handle, Mux, NewSession, Received};
use crate::sdp::{self, Candidate, Direction, MediaKind, Offer, Section};
use crate::srtp::{Keys, Opener, Profile, Sealer};

const OPUS: OfferedFormat<'_> = OfferedFormat {
    payload_type: 111,
    rtpmap: "opus/48000/2",
    parameters: "minptime=10;useinbandfec=1",
    rtx: None,
};
const VP8: OfferedFormat<'_> = OfferedFormat {
    payload_type: 96,
    rtpmap: "VP8/90000",
    parameters: "",
    rtx: Some(97),
};

fn server_address() -> std::net::SocketAddr {
    ([127, 0, 0, 1], 8_189).into()
}

fn client_path() -> Path {
    Path::udp(([127, 1, 0, 1], 4_000).into())
}

/// A server and one peer of it, after offer and answer.
struct Pair {
    mux: Mux,
    handle: Handle,
    peer: Peer,
    now: Instant,
    theirs: Option<Keys>,
    ours: Option<Keys>,
    closed: usize,
}

impl Pair {
    fn new(profiles: &[Profile]) -> Self {
        let (identity, local, offer) = offered(profiles);
        let (now, server) = (Instant::now(), server_identity());
        let mut mux = Mux::new(&server);
        let answer = Answer::parse(&answer(&offer, &server)).expect("an answer");
        let handle = mux.adopt(session(&offer), now).expect("room");
        Self {
            mux,
            handle,
            peer: Peer::new(&identity, local, &answer, 7, now),
            now,
            theirs: None,
            ours: None,
            closed: 0,
        }
    }

    fn gcm() -> Self {
        Self::new(&[Profile::Aes128Gcm])
    }

    fn connected() -> Self {
        let mut pair = Self::gcm();
        pair.connect();
        pair
    }

    /// Carries datagrams both ways until there are none, dropping those for which `lose` returns true.
    fn exchange(&mut self, mut lose: impl FnMut() -> bool) -> Result<(), Error> {
        loop {
            let mut is_quiet = true;
            while let Some(datagram) = self.peer.poll_transmit() {
                is_quiet = false;
                if !lose() {
                    let mut datagram = datagram.to_vec();
                    let received = self.mux.receive(client_path(), &mut datagram, self.now);
                    assert_eq!(received, Received::Nothing);
                }
            }
            while let Some((_, event)) = self.mux.poll_event() {
                match event {
                    mux::Event::Connected { keys, .. } => self.theirs = Some(*keys),
                    mux::Event::Closed { .. } => self.closed += 1,
                    mux::Event::Moved { .. } => {}
                }
            }
            while let Some(transmit) = self.mux.poll_transmit() {
                is_quiet = false;
                if lose() {
                    continue;
                }
                let from = server_address();
                match self.peer.receive(&transmit.datagram, from, self.now)? {
                    Some(Event::Connected(keys)) => self.ours = Some(*keys),
                    Some(Event::Closed) => self.closed += 1,
                    None => {}
                }
            }
            if is_quiet {
                return Ok(());
            }
        }
    }

    /// Advances to the next time that one of the two is due.
    fn wait(&mut self) -> Result<(), Error> {
        let due = self.peer.timeout();
        self.now = self.mux.timeout().map_or(due, |other| other.min(due));
        self.mux.handle_timeout(self.now);
        if self.peer.timeout() <= self.now {
            self.peer.handle_timeout(self.now)?;
        }
        Ok(())
    }

    fn connect(&mut self) {
        self.wait().expect("the first check");
        self.exchange(|| false).expect("connected");
        assert!(self.ours.is_some() && self.theirs.is_some());
    }
}

fn server_credentials() -> Credentials {
    Credentials::generate(&[9; RANDOM_LEN])
}

fn server_identity() -> ServerIdentity {
    ServerIdentity::generate().expect("an identity")
}

/// A peer, and its offer.
fn offered(profiles: &[Profile]) -> (ClientIdentity, Credentials, Offer) {
    let identity = ClientIdentity::generate(profiles).expect("an identity");
    let local = Credentials::generate(&[3; RANDOM_LEN]);
    let section = |kind, format| OfferedMedia {
        kind,
        direction: Direction::RecvOnly,
        formats: format,
        ssrc: None,
    };
    let media = [
        section(MediaKind::Audio, &[OPUS]),
        section(MediaKind::Video, &[VP8]),
    ];
    let text = write_offer(&local, identity.fingerprint(), &media).expect("text");
    let offer = Offer::parse(&text).expect("an offer");
    (identity, local, offer)
}

fn session(offer: &Offer) -> NewSession {
    NewSession {
        local: server_credentials(),
        remote_ufrag: offer.ice.ufrag().into(),
        fingerprint: offer.fingerprint,
        setup: offer.setup,
    }
}

fn answer(offer: &Offer, server: &ServerIdentity) -> String {
    let sends = |at: usize, ssrc, rtx_ssrc| Section::Sends {
        format: &offer.media[at].formats[0],
        parameters: None,
        ssrc,
        rtx_ssrc,
    };
    sdp::Answer {
        offer,
        sections: &[sends(0, 11, None), sends(1, 22, Some(23))],
        session_id: 1,
        ice: &server_credentials(),
        fingerprint: server.fingerprint(),
        candidates: &[Candidate {
            address: server_address(),
            transport: Transport::Udp,
        }],
        stream: "show",
        cname: "x",
    }
    .to_string()
}

#[test]
fn offer_and_answer_say_the_same_to_both_sides() {
    let (identity, local, offer) = offered(&[Profile::Aes128Gcm]);
    assert_eq!(offer.ice, local);
    assert_eq!(&offer.fingerprint, identity.fingerprint());
    let media = offer.media.iter();
    let formats = media.map(|media| (media.usable, media.formats[0].payload_type));
    assert_eq!(formats.collect::<Vec<_>>(), [(true, 111), (true, 96)]);
    assert_eq!(offer.media[1].formats[0].rtx, Some(97));

    let server = server_identity();
    let answer = Answer::parse(&answer(&offer, &server)).expect("an answer");
    assert_eq!(answer.ice, server_credentials());
    assert_eq!(&answer.fingerprint, server.fingerprint());
    let candidates: Vec<_> = answer.candidates.iter().map(|one| one.address).collect();
    assert_eq!(candidates, [server_address()]);
    let audio = answer.section(MediaKind::Audio).expect("sound");
    assert_eq!((audio.payload_type, audio.rtx), (Some(111), None));
    assert_eq!((&*audio.encoding, audio.ssrc), ("opus", Some(11)));
    assert_eq!(&*audio.parameters, "minptime=10;useinbandfec=1");
    let picture = answer.section(MediaKind::Video).expect("a picture");
    assert_eq!((picture.payload_type, picture.rtx), (Some(96), Some(97)));
    assert_eq!((&*picture.encoding, picture.ssrc), ("VP8", Some(22)));
}

#[test]
fn answers_that_lack_something_say_what() {
    let (_, _, offer) = offered(&[Profile::Aes128Gcm]);
    let text = answer(&offer, &server_identity());
    let without = |line: &str| Answer::parse(&text.replace(line, "a=x-")).map(|_| ());
    assert_eq!(without("a=ice-pwd"), Err(AnswerError::Ice));
    assert_eq!(without("a=fingerprint"), Err(AnswerError::Fingerprint));
    assert_eq!(without("v=0"), Err(AnswerError::Syntax));
    let active = text.replace("setup:passive", "setup:active");
    assert_eq!(Answer::parse(&active).map(|_| ()), Err(AnswerError::Setup));
    for cut in 0..text.len() {
        // Whatever is left of it is accepted or refused.
        drop(Answer::parse(&text[..cut]));
    }
    let rejected = text.replace("m=video 9", "m=video 0");
    let answer = Answer::parse(&rejected).expect("an answer");
    assert!(answer.section(MediaKind::Video).is_none());
}

#[test]
fn a_peer_connects_and_media_goes_both_ways() {
    for profile in [Profile::Aes128Gcm, Profile::Aes128CmSha1_80] {
        let mut pair = Pair::new(&[profile]);
        pair.connect();
        let (ours, theirs) = (pair.ours.expect("keys"), pair.theirs.expect("keys"));
        assert_eq!(ours.profile, profile);
        let header = [0x80, 96, 0, 5, 0, 0, 0, 1, 0, 0, 0, 9];
        for (from, to) in [(&ours, &theirs), (&theirs, &ours)] {
            let mut packet = [0; 100];
            let sealer = Sealer::new(from).expect("keys");
            let len = sealer.seal(5, &header, b"sound", &mut packet);
            let packet = &mut packet[..len.expect("sealed")];
            assert!(is_media(packet));
            let opened = Opener::new(to).expect("keys").open(packet);
            assert_eq!(opened.expect("authentic").index, 5);
            assert_eq!(&packet[12..17], b"sound");
        }
    }
}

#[test]
fn the_server_keeps_a_peer_that_keeps_checking() {
    let mut pair = Pair::connected();
    let end = pair.now + Duration::from_secs(600);
    let mut checks = 0;
    while pair.now < end {
        pair.wait().expect("not silent");
        let exchanged = pair.exchange(|| {
            checks += 1;
            false
        });
        exchanged.expect("no error");
    }
    assert_eq!(pair.closed, 0);
    assert!(pair.mux.path(pair.handle).is_some());
    // A check and its answer every four to six seconds.
    assert!((200..=300).contains(&checks), "{checks}");
}

#[test]
fn a_lossy_path_is_only_slower() {
    for seed in 0..20_u64 {
        let mut pair = Pair::gcm();
        let mut state = seed;
        let mut lose = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 62 == 0
        };
        let give_up = pair.now + Duration::from_secs(20);
        while pair.ours.is_none() || pair.theirs.is_none() {
            pair.wait().expect("not given up");
            pair.exchange(&mut lose).expect("no error");
            assert!(pair.now < give_up, "seed {seed}");
        }
        let (ours, theirs) = (pair.ours.expect("keys"), pair.theirs.expect("keys"));
        assert_eq!(ours.local, theirs.remote, "seed {seed}");
    }
}

#[test]
fn silence_ends_a_session() {
    let end = |mut pair: Pair| {
        (0..1_000).find_map(|_| {
            let woken = pair.wait();
            pair.exchange(|| true).expect("nothing comes");
            woken.err()
        })
    };
    assert_eq!(end(Pair::gcm()), Some(Error::NotReached));
    assert_eq!(end(Pair::connected()), Some(Error::Silent));
}

#[test]
fn goodbyes_are_heard_on_both_sides() {
    for is_ours in [true, false] {
        let mut pair = Pair::connected();
        match is_ours {
            true => pair.peer.close(pair.now),
            false => assert!(pair.mux.close(pair.handle, pair.now)),
        }
        pair.exchange(|| false).expect("no error");
        assert_eq!(pair.closed, 1);
    }
}

#[test]
fn another_certificate_than_the_answers_is_refused() {
    let mut pair = Pair::gcm();
    let (identity, local, offer) = offered(&[Profile::Aes128Gcm]);
    let answer = Answer::parse(&answer(&offer, &server_identity())).expect("an answer");
    pair.mux.close(pair.handle, pair.now);
    pair.mux.adopt(session(&offer), pair.now).expect("room");
    pair.peer = Peer::new(&identity, local, &answer, 8, pair.now);
    pair.wait().expect("the first check");
    let refused = pair.exchange(|| false);
    assert_eq!(refused, Err(Error::Dtls(dtls::Error::WrongFingerprint)));
}

#[test]
fn forged_datagrams_change_nothing() {
    let mut pair = Pair::gcm();
    pair.wait().expect("the first check");
    let check = pair.peer.poll_transmit().expect("a check");
    let from = server_address();
    let mut forged = check.to_vec();
    // An answer to it, without the password.
    forged[..2].copy_from_slice(&[1, 1]);
    for len in 0..forged.len() {
        for first in [forged[0], 0, 20, 22, 63, 128, 255] {
            let mut bytes = forged[..len].to_vec();
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            let received = pair.peer.receive(&bytes, from, pair.now);
            assert!(matches!(received, Ok(None)), "{received:?}");
        }
    }
    let received = pair.peer.receive(&forged, from, pair.now);
    assert!(matches!(received, Ok(None)), "{received:?}");
    assert!(pair.peer.poll_transmit().is_none());
    pair.peer.check(pair.now);
    pair.exchange(|| false).expect("connected");
    assert!(pair.ours.is_some());
}
