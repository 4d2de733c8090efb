//! Client's half of the handshake: always the simple form, which every server answers.

use bytes::{BufMut, BytesMut};

use super::{PACKET_BYTES, VERSION, filling};
use crate::Error;

/// A client's handshake in progress. C2 repeats S1, so nothing is held.
#[derive(Debug)]
pub struct ClientHandshake {
    /// Bytes of the server's part seen so far.
    seen: usize,
}

/// Length of S0 and S1, which C2 answers.
const FIRST_BYTES: usize = 1 + PACKET_BYTES;
/// Length of S0, S1 and S2.
const ANSWER_BYTES: usize = 1 + 2 * PACKET_BYTES;

impl ClientHandshake {
    /// Starts a handshake by appending C0 and C1, with random filling drawn from `seed`.
    pub fn new(seed: &[u8; 32], output: &mut BytesMut) -> Self {
        let mut c1 = filling(seed, 0);
        // Time zero, and no version: a server that sees one looks for a digest.
        c1[..8].fill(0);
        output.put_u8(VERSION);
        output.put_slice(&c1);
        Self { seen: 0 }
    }

    /// Takes the handshake's bytes from the front of `input` and appends C2 to `output` as S1 arrives.
    /// Returns `true` when the handshake is over; the rest of `input` then belongs to the chunk stream.
    ///
    /// S2 is not verified: servers fill it with the client's C1, with a digest, or with noise, and it proves
    /// nothing.
    ///
    /// # Errors
    /// [`Error::HandshakeVersion`], as soon as the first byte has arrived.
    pub fn read(&mut self, input: &mut &[u8], output: &mut BytesMut) -> Result<bool, Error> {
        if self.seen == 0 {
            let Some((&version, rest)) = input.split_first() else {
                return Ok(false);
            };
            if version != VERSION {
                return Err(Error::HandshakeVersion(version));
            }
            *input = rest;
            self.seen = 1;
        }
        let echo = input.len().min(FIRST_BYTES.saturating_sub(self.seen));
        output.put_slice(&input[..echo]);
        let take = input.len().min(ANSWER_BYTES - self.seen);
        *input = &input[take..];
        self.seen += take;
        Ok(self.seen == ANSWER_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use rml_rtmp::handshake::{Handshake as Peer, HandshakeProcessResult, PeerType};

    use super::*;

    #[test]
    fn an_independent_server_completes_and_gets_its_s1_back() {
        let mut output = BytesMut::new();
        let mut opening = ClientHandshake::new(&[1; 32], &mut output);
        let mut peer = Peer::new(PeerType::Server);
        let Ok(HandshakeProcessResult::InProgress { response_bytes }) =
            peer.process_bytes(&output.split())
        else {
            panic!("the server wants C2 first");
        };
        let mut input = &[&response_bytes[..], b"chunks"].concat()[..];
        assert!(opening.read(&mut input, &mut output).unwrap());
        assert_eq!(input, b"chunks");
        assert_eq!(output[..], response_bytes[1..FIRST_BYTES]);
        assert!(matches!(
            peer.process_bytes(&output),
            Ok(HandshakeProcessResult::Completed { .. })
        ));
    }

    #[test]
    fn other_versions_are_refused_at_the_first_byte() {
        let mut output = BytesMut::new();
        for version in (0..=255).filter(|&v| v != VERSION) {
            let got =
                ClientHandshake::new(&[0; 32], &mut output).read(&mut &[version][..], &mut output);
            assert_eq!(got, Err(Error::HandshakeVersion(version)));
        }
    }
}
