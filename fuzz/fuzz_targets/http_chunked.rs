//! Chunked bodies: any segmentation gives the same body and the same end, and the body is never
//! longer than its coding.

#![no_main]

use http1::{ChunkedDecoder, Error, Step};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let whole = decode(bytes, bytes.len().max(1));
    for piece in [1, 7] {
        assert_eq!(whole, decode(bytes, piece));
    }
    if let Ok((body, used)) = whole {
        assert!(used <= bytes.len() && body.len() <= used);
    }
});

/// The body, and how many bytes of the input belong to it.
fn decode(bytes: &[u8], piece: usize) -> Result<(Vec<u8>, usize), Error> {
    let mut decoder = ChunkedDecoder::new();
    let (mut body, mut used) = (Vec::new(), 0);
    for piece in bytes.chunks(piece) {
        let mut input = piece;
        loop {
            match decoder.step(&mut input)? {
                Step::Data(data) => {
                    assert!(!data.is_empty());
                    body.extend_from_slice(data);
                }
                Step::NeedMore => {
                    assert!(input.is_empty());
                    used += piece.len();
                    break;
                }
                Step::End => return Ok((body, used + piece.len() - input.len())),
            }
        }
    }
    Ok((body, used))
}
