//! A handshake takes as many bytes and gives the same reply however its input is split.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use rtmp::{
    Error,
    handshake::{Handshake, PACKET_BYTES},
};

/// The result, the reply, and the number of bytes taken.
type Outcome = (Result<bool, Error>, Vec<u8>, usize);

fn run(input: &[u8], piece: usize) -> Outcome {
    let mut handshake = Handshake::new([7; 32]);
    let mut output = BytesMut::new();
    let mut taken = 0;
    let mut result = Ok(false);
    for piece in input.chunks(piece.max(1)) {
        let mut rest = piece;
        result = handshake.read(&mut rest, &mut output);
        taken += piece.len() - rest.len();
        if result != Ok(false) {
            break;
        }
        assert!(rest.is_empty(), "an unfinished handshake takes all it gets");
    }
    (result, output.to_vec(), taken)
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, noise)) = data.split_last() else {
        return;
    };
    // Noise alone is hardly ever long enough, so it is also tried as the beginning of C1.
    let mut padded = noise.to_vec();
    padded.insert(0, 3);
    padded.resize(padded.len().max(1 + 2 * PACKET_BYTES), 0x5a);
    for input in [noise, &padded] {
        let whole = run(input, usize::MAX);
        assert_eq!(run(input, usize::from(piece)), whole);
        let (result, output, taken) = whole;
        assert!(output.is_empty() || output.len() == 1 + 2 * PACKET_BYTES);
        assert_eq!(result == Ok(true), taken == 1 + 2 * PACKET_BYTES);
    }
});
