//! A connected session and an attacker that forges its peer's address: a run of datagrams, each after its 16-bit length, ends
//! nothing, opens nothing, and is answered a bounded number of times.

#![no_main]

use std::sync::LazyLock;
use std::time::Instant;

use ice::{Credentials, Path, RANDOM_LEN};
use libfuzzer_sys::fuzz_target;
use rtc_stun::attributes::ATTR_USE_CANDIDATE;
use testing::{CM_FIRST, Client, check_request};
use webrtc::dtls::ServerIdentity;
use webrtc::mux::{Event, Mux, NewSession, Received};
use webrtc::{ice, mux, sdp, srtp};

#[path = "../../crates/webrtc/src/testing.rs"]
#[allow(dead_code, reason = "the crate's own tests use the rest")]
mod testing;

/// Number of times that the library repeats its last flight.
const REPETITIONS_MAX: usize = 8;

static IDENTITY: LazyLock<ServerIdentity> = LazyLock::new(|| ServerIdentity::generate().unwrap());
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fuzz_target!(|bytes: &[u8]| {
    let now = *START;
    let path = Path::udp(([127, 0, 0, 1], 1).into());
    let mut mux = connected(path, now);
    let mut answers = 0;
    for datagram in datagrams(bytes) {
        let mut datagram = datagram.to_vec();
        let received = mux.receive(path, &mut datagram, now);
        assert!(matches!(
            received,
            Received::Nothing | Received::Unknown { .. }
        ));
        while mux.poll_transmit().is_some() {
            answers += 1;
        }
        assert!(mux.poll_event().is_none());
    }
    assert!(answers <= REPETITIONS_MAX, "{answers}");
    assert_eq!(mux.len(), 1);
});

fn connected(path: Path, now: Instant) -> Mux {
    let mut mux = Mux::new(&IDENTITY);
    let mut client = Client::new(&CM_FIRST, now);
    let local = Credentials::generate(&[7; RANDOM_LEN]);
    let mut check = check_request(&local, "them", &[ATTR_USE_CANDIDATE]);
    let session = NewSession {
        local,
        remote_ufrag: "them".into(),
        fingerprint: client.fingerprint,
        setup: sdp::Setup::Passive,
    };
    mux.adopt(session, now).unwrap();
    mux.receive(path, &mut check, now);
    loop {
        while let Some(mut datagram) = client.send() {
            mux.receive(path, &mut datagram, now);
        }
        while let Some(transmit) = mux.poll_transmit() {
            if transmit.datagram[0] >= 20 {
                client.receive(&transmit.datagram, now);
            }
        }
        match mux.poll_event() {
            Some((_, Event::Connected { .. })) => return mux,
            Some((_, event)) => panic!("{event:?}"),
            None => {}
        }
    }
}

fn datagrams(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (len, rest) = bytes.split_first_chunk::<2>()?;
        let len = usize::from(u16::from_be_bytes(*len)).min(rest.len());
        let (datagram, rest) = rest.split_at(len);
        bytes = rest;
        Some(datagram)
    })
}
