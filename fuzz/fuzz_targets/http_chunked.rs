//! Bodies: any segmentation gives the same body and the same end, a body is never longer than its framing, and input that is
//! accepted strictly is decoded leniently to the same result.

#![no_main]

use http1::{Body, BodyDecoder, Error, Step};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let length = bytes.first().map_or(0, |first| u64::from(*first));
    for body in [Body::Chunked, Body::Length(length), Body::UntilClose] {
        let lenient = same_in_pieces(|| BodyDecoder::new(body), bytes);
        let strict = same_in_pieces(|| BodyDecoder::strict(body), bytes);
        if strict.is_ok() {
            assert_eq!(strict, lenient);
        }
    }
});

/// The body, the number of input bytes that belong to it, and whether it ended.
type Outcome = Result<(Vec<u8>, usize, bool), Error>;

fn same_in_pieces(make: impl Fn() -> BodyDecoder, bytes: &[u8]) -> Outcome {
    let whole = decode(make(), bytes, bytes.len().max(1));
    for piece in [1, 7] {
        assert_eq!(whole, decode(make(), bytes, piece));
    }
    if let Ok((body, used, _)) = &whole {
        assert!(*used <= bytes.len() && body.len() <= *used);
    }
    whole
}

fn decode(mut decoder: BodyDecoder, bytes: &[u8], piece: usize) -> Outcome {
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
                Step::End => return Ok((body, used + piece.len() - input.len(), true)),
            }
        }
    }
    Ok((body, used, false))
}
