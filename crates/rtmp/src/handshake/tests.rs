use proptest::prelude::*;

use super::*;

/// C0, C1 with a digest by `schema`, or without.
fn opening(schema: Option<usize>, filler: u8) -> Vec<u8> {
    let mut c1 = filling(&[filler; 32], 7);
    c1[..4].copy_from_slice(&[0, 0, 1, 2]);
    match schema {
        None => c1[4..8].fill(0),
        Some(schema) => {
            c1[4..8].copy_from_slice(&[9, 0, 124, 2]);
            let at = digest_offset(&c1, schema);
            let digest = digest_around(&c1, at, CLIENT_KEY);
            c1[at..at + DIGEST_BYTES].copy_from_slice(&digest);
        }
    }
    let mut out = vec![3];
    out.extend_from_slice(&c1);
    out
}

fn run(segments: &[&[u8]]) -> (bool, Vec<u8>, usize) {
    let mut handshake = Handshake::new([5; 32]);
    let mut output = BytesMut::new();
    let mut done = false;
    let mut left = 0;
    for segment in segments {
        let mut input = *segment;
        if !done {
            done = handshake.read(&mut input, &mut output).unwrap();
        }
        left += input.len();
    }
    (done, output.to_vec(), left)
}

#[test]
fn simple_answer_echoes_c1_and_names_no_version() {
    // A version, too, may come without a digest.
    for version in [[0; 4], [10, 0, 32, 2]] {
        let mut opening = opening(None, 1);
        opening[5..9].copy_from_slice(&version);
        let (done, output, _) = run(&[&opening]);
        assert!(!done, "C2 is still to come");
        assert_eq!(output.len(), 1 + 2 * PACKET_BYTES);
        assert_eq!((output[0], &output[5..9]), (3, &[0; 4][..]));
        assert_eq!(output[1 + PACKET_BYTES..], opening[1..], "{version:?}");
    }
}

#[test]
fn both_digest_schemas_are_signed() {
    for schema in SCHEMA_OFFSETS {
        for filler in 0..32 {
            let opening = opening(Some(schema), filler);
            let (_, output, _) = run(&[&opening]);
            let s1 = Packet::try_from(&output[1..=PACKET_BYTES]).unwrap();
            assert_ne!(s1[4..8], [0; 4]);
            let at = digest_offset(&s1, schema);
            assert_eq!(s1[at..at + 32], digest_around(&s1, at, SERVER_KEY));

            let c1 = Packet::try_from(&opening[1..]).unwrap();
            let at = digest_offset(&c1, schema);
            let full_key = [&SERVER_KEY[..], &KEY_TAIL].concat();
            let key = hmac(&full_key, &[&c1[at..at + 32]]);
            let s2 = &output[1 + PACKET_BYTES..];
            assert_eq!(s2[1504..], hmac(&key, &[&s2[..1504]]));
        }
    }
}

#[test]
fn other_versions_are_refused_at_the_first_byte() {
    for version in (0..=255).filter(|&v| v != 3) {
        let got = Handshake::new([0; 32]).read(&mut &[version][..], &mut BytesMut::new());
        assert_eq!(got, Err(Error::HandshakeVersion(version)));
    }
}

proptest! {
    #[test]
    fn fragmentation_changes_nothing(
        schema in prop::option::of(prop::sample::select(&SCHEMA_OFFSETS[..])),
        mut cuts in prop::collection::vec(0..3_200_usize, 0..8),
        overflow in 0..100_usize,
    ) {
        let mut bytes = opening(schema, 3);
        bytes.extend(vec![0xc2; PACKET_BYTES + overflow]);
        let whole = run(&[&bytes]);
        prop_assert!(whole.0);
        prop_assert_eq!(whole.2, overflow);
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(bytes.len()));
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let segments: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(run(&segments), whole);
    }
}
