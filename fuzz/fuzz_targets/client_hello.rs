//! DTLS from strangers: a run of datagrams, each after its 16-bit length, is read as a ClientHello and then given to the
//! handshake. Nothing panics, and no peer is accepted.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;
use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use webrtc::dtls::{Acceptor, Association, HelloReader, Key, Progress, ServerIdentity};
use webrtc::sdp::Setup;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

static IDENTITY: LazyLock<ServerIdentity> = LazyLock::new(|| ServerIdentity::generate().unwrap());
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fuzz_target!(|bytes: &[u8]| {
    let now = *START;
    let mut reader = HelloReader::new(now);
    let mut acceptor = Acceptor::new(&IDENTITY);
    let mut association = Association::new(Key(1), *IDENTITY.fingerprint(), Setup::Passive);
    for datagram in datagrams(bytes) {
        let _offered = reader.push(datagram, now);
        let found = acceptor.receive(&mut association, HERE, datagram, now);
        assert!(!matches!(found, Ok(Progress::Connected(_))));
        while let Some((key, datagram)) = acceptor.poll_transmit() {
            assert!(key == Key(1) && !datagram.is_empty());
        }
        if !matches!(&found, Err(error) if !error.is_fatal())
            && !matches!(found, Ok(Progress::Pending))
        {
            break;
        }
    }
    acceptor.close(&mut association, now);
    assert_eq!(acceptor.half_open(), 0);
});

fn datagrams(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (len, rest) = bytes.split_first_chunk::<2>()?;
        let len = usize::from(u16::from_be_bytes(*len)).min(rest.len());
        let (datagram, rest) = rest.split_at(len);
        bytes = rest;
        Some(datagram)
    })
}
