use proptest::prelude::*;

use super::*;

/// Decodes input given in pieces: the body, what was left over, and whether the end was seen.
fn decode(pieces: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>, bool), Error> {
    let mut decoder = ChunkedDecoder::new();
    let (mut body, mut left) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = *piece;
        loop {
            match decoder.step(&mut input)? {
                Step::Data(data) => {
                    assert!(!data.is_empty());
                    body.extend_from_slice(data);
                }
                Step::NeedMore => break,
                Step::End => {
                    left.extend_from_slice(input);
                    break;
                }
            }
        }
    }
    Ok((body, left, decoder.is_done()))
}

fn whole(input: &[u8]) -> Result<(Vec<u8>, Vec<u8>, bool), Error> {
    decode(&[input])
}

#[test]
fn bodies_end_where_they_say() {
    for (input, body, left, done) in [
        (&b"0\r\n\r\n"[..], &b""[..], &b""[..], true),
        (b"3\r\nabc\r\n0\r\n\r\nGET", b"abc", b"GET", true),
        (b"3\nabc\n0\n\n", b"abc", b"", true),
        (b"0003;a=b;c=\"d\"\r\nabc\r\n0\r\n\r\n", b"abc", b"", true),
        (
            b"a \r\n0123456789\r\n00\r\nX: y\r\nZ: w\r\n\r\n",
            b"0123456789",
            b"",
            true,
        ),
        (b"A\r\n01234", b"01234", b"", false),
        (b"3\r\nabc\r\n0\r\n", b"abc", b"", false),
    ] {
        let expected = Ok((body.to_vec(), left.to_vec(), done));
        assert_eq!(whole(input), expected, "{input:?}");
    }
}

#[test]
fn strictly_only_the_plainest_coding_is_read() {
    let end = |mut input: &[u8]| {
        let mut decoder = ChunkedDecoder::strict();
        loop {
            match decoder.step(&mut input)? {
                Step::Data(_) => {}
                Step::NeedMore => return Ok(None),
                Step::End => return Ok(Some(input.len())),
            }
        }
    };
    for (input, left) in [
        (&b"0\r\n\r\n"[..], Some(0)),
        (b"0003\r\nabc\r\nA\r\n0123456789\r\n00\r\n\r\nGET", Some(3)),
        (b"3\r\nab", None),
    ] {
        assert_eq!(end(input), Ok(left), "{}", input.escape_ascii());
    }
    for input in [
        &b"3\nabc\r\n0\r\n\r\n"[..],
        b"3\r\nabc\n0\r\n\r\n",
        b"3\r\nabc\r\n0\n\r\n",
        b"3\r\nabc\r\n0\r\n\n",
        b"3 \r\nabc\r\n0\r\n\r\n",
        b"3;a=b\r\nabc\r\n0\r\n\r\n",
        b"3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n",
        b" 3\r\nabc\r\n0\r\n\r\n",
        b"+3\r\nabc\r\n0\r\n\r\n",
        b"0x3\r\nabc\r\n0\r\n\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"3\r\r\nabc\r\n0\r\n\r\n",
        b"\r\n",
    ] {
        let shown = input.escape_ascii();
        assert_eq!(end(input), Err(Error::ChunkMalformed), "{shown}");
    }
}

#[test]
fn broken_codings_are_refused() {
    for (input, error) in [
        (&b"\r\n"[..], Error::ChunkMalformed),
        (b"x\r\n", Error::ChunkMalformed),
        (b"-1\r\n", Error::ChunkMalformed),
        (b"+1\r\n", Error::ChunkMalformed),
        (b"0x3\r\nabc", Error::ChunkMalformed),
        (b"3\rabc\r\n", Error::ChunkMalformed),
        (b"3\r\nabcd\r\n", Error::ChunkMalformed),
        (b"3\r\nabc\r\r\n", Error::ChunkMalformed),
        (b"3;\0\r\n", Error::ChunkMalformed),
        (b"0\r\nX\rY\r\n\r\n", Error::ChunkMalformed),
        (b"11111111111111111\r\n", Error::ChunkTooLarge),
    ] {
        assert_eq!(whole(input), Err(error), "{input:?}");
    }
}

#[test]
fn patience_is_bounded() {
    let mut line = b"3;".to_vec();
    line.resize(10_000, b'x');
    assert_eq!(whole(&line), Err(Error::ChunkLineTooLong));

    let mut zeros = b"3".to_vec();
    zeros.resize(10_000, b' ');
    assert_eq!(whole(&zeros), Err(Error::ChunkLineTooLong));

    let trailers = [b"0\r\n".to_vec(), b"a: b\r\n".repeat(1_000)].concat();
    assert_eq!(whole(&trailers), Err(Error::TrailersTooLong));
}

proptest! {
    #[test]
    fn any_body_survives_any_chunking_and_any_segmentation(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
        segment in 1_usize..24,
    ) {
        let mut coded = Vec::new();
        for chunk in &chunks {
            coded.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            coded.extend_from_slice(chunk);
            coded.extend_from_slice(b"\r\n");
        }
        coded.extend_from_slice(b"0\r\n\r\n");
        let pieces: Vec<&[u8]> = coded.chunks(segment).collect();
        prop_assert_eq!(decode(&pieces), Ok((chunks.concat(), Vec::new(), true)));
    }

    #[test]
    fn segmentation_never_changes_the_outcome(
        input in "[0-3a;\r\n x]{0,60}",
        segment in 1_usize..8,
    ) {
        let pieces: Vec<&[u8]> = input.as_bytes().chunks(segment).collect();
        prop_assert_eq!(decode(&pieces), whole(input.as_bytes()));
    }
}
