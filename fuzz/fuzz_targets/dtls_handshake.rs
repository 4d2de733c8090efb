//! DTLS from a peer whose hello was valid: the flights of a real client, changed according to the input, are given to the
//! handshake. Nothing panics, no peer is accepted whose certificate is not the offer's, and nothing is left afterwards.
//!
//! The input is a run of steps of four bytes: the operation on the next datagram of the client, and its position.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;
use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use testing::{CM_FIRST, Client};
use webrtc::dtls::{Acceptor, Association, Key, Progress, ServerIdentity};
use webrtc::{ice, mux, sdp, srtp};

#[path = "../../crates/webrtc/src/testing.rs"]
#[allow(dead_code, reason = "the crate's own tests use the rest")]
mod testing;

/// Maximum number of rounds between both sides: a handshake without losses takes four.
const ROUNDS_MAX: usize = 12;

/// Maximum number of datagrams kept for later, and given to the server: beyond what an association may cost in any case.
const DATAGRAMS_MAX: usize = 64;

static IDENTITY: LazyLock<ServerIdentity> = LazyLock::new(|| ServerIdentity::generate().unwrap());
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fuzz_target!(|bytes: &[u8]| {
    let now = *START;
    let mut client = Client::new(&CM_FIRST, now);
    let mut acceptor = Acceptor::new(&IDENTITY);
    let mut association = Association::new(Key(1), client.fingerprint, sdp::Setup::Passive);
    let mut steps = bytes.chunks_exact(4);
    let mut kept: Vec<Vec<u8>> = Vec::new();
    // The first flights are the client's own, so that the input affects what comes after them.
    let mut is_greeted = false;
    'handshake: for _ in 0..ROUNDS_MAX {
        while let Some(datagram) = client.send() {
            kept.push(datagram.to_vec());
        }
        if is_greeted {
            for step in steps.by_ref().take(DATAGRAMS_MAX) {
                change(&mut kept, step);
                if step[0] & 0x80 != 0 {
                    break;
                }
            }
        }
        for datagram in kept.drain(..).take(DATAGRAMS_MAX) {
            match acceptor.receive(&mut association, HERE, &datagram, now) {
                Err(error) if error.is_fatal() => break 'handshake,
                Ok(Progress::Closed) => break 'handshake,
                Ok(Progress::Connected(_) | Progress::Pending) | Err(_) => {}
            }
        }
        while let Some((key, datagram)) = acceptor.poll_transmit() {
            assert!(key == Key(1) && !datagram.is_empty());
            let is_hello = datagram[0] == 22 && datagram[13] == SERVER_HELLO;
            // A repeated flight would make the client repeat its own, as often as it likes.
            if !(is_hello && std::mem::replace(&mut is_greeted, true)) {
                client.receive(&datagram, now);
            }
        }
    }
    acceptor.close(&mut association, now);
    assert_eq!(acceptor.half_open(), 0);
});

const SERVER_HELLO: u8 = 2;

/// Length of a record's header, after which its messages begin.
const RECORD_HEADER_LEN: usize = 13;

/// Changes the datagrams that the client is about to send.
fn change(datagrams: &mut Vec<Vec<u8>>, step: &[u8]) {
    if datagrams.is_empty() {
        return;
    }
    let [what, which, at, value] = [step[0] & 0x0f, step[1], step[2], step[3]];
    let which = usize::from(which) % datagrams.len();
    let len = datagrams[which].len();
    // Half of the changes hit the lengths.
    let at = match what % 2 {
        0 => usize::from(at) % len,
        _ => (usize::from(at) << 3 | usize::from(value) & 7) % len,
    };
    match what {
        0 | 1 => datagrams[which][at] ^= value | 1,
        2 | 3 => datagrams[which][at] = value,
        4 => datagrams[which].truncate(at),
        5 => datagrams[which].insert(at, value),
        6 => {
            datagrams[which].remove(at);
        }
        7 => {
            let to = usize::from(value) % datagrams.len();
            datagrams.swap(which, to);
        }
        8 if datagrams.len() < DATAGRAMS_MAX => {
            let again = datagrams[which].clone();
            datagrams.push(again);
        }
        9 => {
            datagrams.remove(which);
        }
        10 => {
            // A record that claims to be shorter or longer than it is, and a message that does.
            if let Some(byte) = datagrams[which].get_mut(RECORD_HEADER_LEN - 1) {
                *byte = byte.wrapping_add(value);
            }
        }
        11 => {
            if let Some(byte) = datagrams[which].get_mut(RECORD_HEADER_LEN + 3) {
                *byte = byte.wrapping_add(value);
            }
        }
        12 => {
            // Another kind of message under the same number.
            if let Some(byte) = datagrams[which].get_mut(RECORD_HEADER_LEN) {
                *byte = [11, 14, 15, 16, 20, value][at % 6];
            }
        }
        13 => datagrams[which].extend(std::iter::repeat_n(value, at)),
        14 => {
            // Two datagrams in one.
            let other = datagrams[(which + 1) % datagrams.len()].clone();
            datagrams[which].extend(other);
        }
        _ => {}
    }
    datagrams.retain(|datagram| !datagram.is_empty());
}
