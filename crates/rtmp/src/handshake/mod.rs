//! The handshake (RTMP 1.0 §5.2, and on the server's side Adobe's undocumented digest variant).
//!
//! ```text
//!  client  C0 C1 ───────────────►            C0: version, 1 byte
//!          ◄─────────────── S0 S1 S2         C1, S1: time, version or zero, 1528 bytes
//!          C2 ──────────────────►            S2: C1 again (simple), or signed (digest)
//! ```
//!
//! A client that hides a digest in C1 is answered with digests; every other one is answered simply, with zero
//! version bytes: ffmpeg, when playing, insists on a digest from a server that names a version. C2 is never
//! verified, since real clients disagree about it.
//!
//! [`Handshake`] is the server's half, owned by [`server::Session`](crate::server::Session);
//! [`ClientHandshake`] is the client's, owned by [`client::Session`](crate::client::Session). The sessions
//! keep the deadlines.

mod client;

pub use client::ClientHandshake;

use bytes::{BufMut, BytesMut};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::Error;

/// Length of C1, C2, S1 and S2.
pub const PACKET_BYTES: usize = 1536;

/// Protocol version; the only one outside encrypted RTMP.
const VERSION: u8 = 3;
const DIGEST_BYTES: usize = 32;
/// Number of possible offsets of the digest after the four bytes that select it.
const DIGEST_PLACES: usize = 764 - DIGEST_BYTES - 4;
/// Offset of those four bytes in the two schemas: after the key block, or before it.
const SCHEMA_OFFSETS: [usize; 2] = [772, 8];
/// Server version that informs a digest client of digest support; any non-zero version does.
const DIGEST_SERVER_VERSION: [u8; 4] = [4, 5, 0, 1];

const CLIENT_KEY: &[u8; 30] = b"Genuine Adobe Flash Player 001";
const SERVER_KEY: &[u8; 36] = b"Genuine Adobe Flash Media Server 001";
const KEY_TAIL: [u8; 32] = [
    0xf0, 0xee, 0xc2, 0x4a, 0x80, 0x68, 0xbe, 0xe8, 0x2e, 0x00, 0xd0, 0xd1, 0x02, 0x9e, 0x7e, 0x57,
    0x6e, 0xec, 0x5d, 0x2d, 0x29, 0x80, 0x6f, 0xab, 0x93, 0xb8, 0xe6, 0x36, 0xcf, 0xeb, 0x31, 0xae,
];

type Packet = [u8; PACKET_BYTES];

/// A server's handshake in progress. Holds at most one packet.
#[derive(Debug)]
pub struct Handshake {
    seed: [u8; 32],
    state: State,
}

#[derive(Debug)]
enum State {
    Version,
    /// Collecting C1.
    First(Vec<u8>),
    /// Skipping C2: bytes left.
    Second(usize),
}

impl Handshake {
    /// Starts a handshake whose random filling is drawn from `seed`.
    pub fn new(seed: [u8; 32]) -> Self {
        Self {
            seed,
            state: State::Version,
        }
    }

    /// Takes the handshake's bytes from the front of `input` and appends the reply to `output`. Returns
    /// `true` when the handshake is over; the rest of `input` then belongs to the chunk stream.
    ///
    /// # Errors
    /// [`Error::HandshakeVersion`], as soon as the first byte has arrived.
    pub fn read(&mut self, input: &mut &[u8], output: &mut BytesMut) -> Result<bool, Error> {
        loop {
            match &mut self.state {
                State::Version => {
                    let Some((&version, rest)) = input.split_first() else {
                        return Ok(false);
                    };
                    if version != VERSION {
                        return Err(Error::HandshakeVersion(version));
                    }
                    *input = rest;
                    self.state = State::First(Vec::new());
                }
                State::First(packet) => {
                    let take = input.len().min(PACKET_BYTES - packet.len());
                    packet.extend_from_slice(&input[..take]);
                    *input = &input[take..];
                    let Ok(first) = Packet::try_from(&packet[..]) else {
                        return Ok(false);
                    };
                    answer(&first, &self.seed, output);
                    self.state = State::Second(PACKET_BYTES);
                }
                State::Second(left) => {
                    let take = input.len().min(*left);
                    *input = &input[take..];
                    *left -= take;
                    return Ok(*left == 0);
                }
            }
        }
    }
}

/// Appends S0, S1 and S2.
fn answer(c1: &Packet, seed: &[u8; 32], output: &mut BytesMut) {
    output.reserve(1 + 2 * PACKET_BYTES);
    output.put_u8(VERSION);
    let mut s1 = filling(seed, 1);
    s1[..8].fill(0);
    match client_digest(c1) {
        None => {
            output.put_slice(&s1);
            output.put_slice(c1);
        }
        Some((schema, digest)) => {
            s1[4..8].copy_from_slice(&DIGEST_SERVER_VERSION);
            let at = digest_offset(&s1, schema);
            let own = digest_around(&s1, at, SERVER_KEY);
            s1[at..at + DIGEST_BYTES].copy_from_slice(&own);
            output.put_slice(&s1);

            let mut s2 = filling(seed, 2);
            let signed = PACKET_BYTES - DIGEST_BYTES;
            let key = hmac(&[&SERVER_KEY[..], &KEY_TAIL].concat(), &[&digest]);
            let signature = hmac(&key, &[&s2[..signed]]);
            s2[signed..].copy_from_slice(&signature);
            output.put_slice(&s2);
        }
    }
}

/// Returns the schema that a client used for the digest in its C1, and the digest; `None` if C1 holds no
/// valid one.
fn client_digest(c1: &Packet) -> Option<(usize, [u8; DIGEST_BYTES])> {
    if c1[4..8] == [0; 4] {
        return None;
    }
    SCHEMA_OFFSETS.into_iter().find_map(|schema| {
        let at = digest_offset(c1, schema);
        let digest = digest_around(c1, at, CLIENT_KEY);
        (c1[at..at + DIGEST_BYTES] == digest).then_some((schema, digest))
    })
}

fn digest_offset(packet: &Packet, schema: usize) -> usize {
    let sum: usize = packet[schema..schema + 4]
        .iter()
        .map(|&b| usize::from(b))
        .sum();
    schema + 4 + sum % DIGEST_PLACES
}

/// Returns the digest of all of `packet` except the bytes of the digest itself.
fn digest_around(packet: &Packet, at: usize, key: &[u8]) -> [u8; DIGEST_BYTES] {
    hmac(key, &[&packet[..at], &packet[at + DIGEST_BYTES..]])
}

/// Returns the HMAC-SHA256 over all parts.
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; DIGEST_BYTES] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// Returns a pseudo-random packet: SHA-256 of the seed, the packet's number and a counter.
fn filling(seed: &[u8; 32], number: u8) -> Packet {
    let mut packet = [0; PACKET_BYTES];
    for (counter, block) in packet.chunks_mut(DIGEST_BYTES).enumerate() {
        let hash = Sha256::new()
            .chain_update(seed)
            .chain_update([number, counter as u8])
            .finalize();
        block.copy_from_slice(&hash[..block.len()]);
    }
    packet
}

#[cfg(test)]
mod tests;
