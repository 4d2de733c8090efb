//! Memory of a connected session. The test is alone in its process, because it counts all allocations, except for the few
//! hundred bytes that the cryptographic library takes from the system itself.

use std::time::Instant;

use carillon_webrtc::dtls::ServerIdentity;
use carillon_webrtc::{ice, mux, sdp, srtp};
use ice::{Credentials, Path, RANDOM_LEN};
use mux::{Event, Mux};
use peak_alloc::PeakAlloc;
use rtc_stun::attributes::ATTR_USE_CANDIDATE;
use srtp::Sealer;
use testing::{CM_FIRST, Client, check_request, session};

#[path = "../src/testing.rs"]
#[allow(dead_code, reason = "the unit tests use the rest")]
mod testing;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const SESSIONS: u16 = 100;

/// Upper bound for a session. A listener's share of the server's memory is 24 KiB; half of it is for the worker's state.
const SESSION_BYTES_MAX: usize = 12 * 1024;

/// Connects one peer and forgets it.
fn connect(mux: &mut Mux, number: u16, now: Instant) -> Sealer {
    let path = Path::udp(([127, 0, 0, 1], number + 1).into());
    let mut random = [0; RANDOM_LEN];
    random[0] = number as u8;
    random[1] = (number >> 6) as u8;
    let local = Credentials::generate(&random);
    let mut client = Client::new(&CM_FIRST, now);
    let mut check = check_request(&local, "them", &[ATTR_USE_CANDIDATE]);
    let session = session(&local, client.fingerprint, sdp::Setup::Passive);
    mux.adopt(session, now).expect("room");
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
        if let Some((_, Event::Connected { keys, .. })) = mux.poll_event() {
            return Sealer::new(&keys).expect("keys");
        }
    }
}

#[test]
fn a_connected_session_is_small_and_leaves_nothing_behind() {
    let now = Instant::now();
    let identity = ServerIdentity::generate().expect("an identity");
    let mut mux = Mux::new(&identity);
    // Tables and statics grow with the first session.
    drop(connect(&mut mux, 0, now));
    let before = HEAP.current_usage();
    let sealers: Vec<_> = (1..=SESSIONS)
        .map(|number| connect(&mut mux, number, now))
        .collect();
    let each = (HEAP.current_usage() - before) / usize::from(SESSIONS);
    assert!(each < SESSION_BYTES_MAX, "{each} bytes");

    drop(sealers);
    for slot in 1..=u32::from(SESSIONS) {
        let handle = mux::Handle {
            slot,
            generation: 0,
        };
        assert!(mux.close(handle, now));
    }
    while mux.poll_transmit().is_some() {}
    while mux.poll_retired().is_some() {}
    let left = HEAP.current_usage().saturating_sub(before) / usize::from(SESSIONS);
    // The tables keep their slots.
    assert!(left < 2 * 1024, "{left} bytes left");
}
