use bytes::BytesMut;
use proptest::prelude::*;

use super::*;

fn decode(bytes: &[u8]) -> Result<Vec<Value<'_>>, Error> {
    let mut decoder = Decoder::new(bytes);
    let mut values = Vec::new();
    while let Some(value) = decoder.value()? {
        values.push(value);
    }
    Ok(values)
}

#[test]
fn every_kind_is_read_and_every_cut_is_noticed() {
    let kinds: [(&[u8], Value<'_>); 16] = [
        (b"\x00\x3f\xf8\0\0\0\0\0\0", Value::Number(1.5)),
        (b"\x01\x00", Value::Boolean(false)),
        (b"\x01\x02", Value::Boolean(true)),
        (b"\x02\0\x02ab", Value::String(b"ab")),
        (
            b"\x03\0\x01k\x05\0\0\x09",
            Value::Object(vec![(b"k", Value::Null)]),
        ),
        // An empty key is a key unless the end follows.
        (
            b"\x03\0\0\x05\0\0\x09",
            Value::Object(vec![(b"", Value::Null)]),
        ),
        (b"\x05", Value::Null),
        (b"\x06", Value::Undefined),
        (b"\x07\x01\x02", Value::Reference(0x0102)),
        (
            b"\x0a\0\0\0\x02\x05\x06",
            Value::StrictArray(vec![Value::Null, Value::Undefined]),
        ),
        (
            b"\x0b\x42\x6d\x1a\x94\xa2\0\0\0\xff\xc4",
            Value::Date {
                milliseconds: 1e12,
                zone: -60,
            },
        ),
        (b"\x0c\0\0\0\x01x", Value::String(b"x")),
        (b"\x0d", Value::Unsupported),
        (b"\x0f\0\0\0\x03<a>", Value::Xml(b"<a>")),
        (
            b"\x10\0\x05Class\0\x01k\x05\0\0\x09",
            Value::TypedObject {
                class: b"Class",
                properties: vec![(b"k", Value::Null)],
            },
        ),
        (
            b"\x0a\0\0\0\x01\x0a\0\0\0\0",
            Value::StrictArray(vec![Value::StrictArray(vec![])]),
        ),
    ];
    for (bytes, value) in kinds {
        for cut in 1..bytes.len() {
            assert!(decode(&bytes[..cut]).is_err(), "{value:?} cut at {cut}");
        }
        assert_eq!(decode(bytes), Ok(vec![value]));
    }
}

#[test]
fn long_strings_round_trip() {
    let text = "x".repeat(70_000);
    let mut out = BytesMut::new();
    Encoder::new(&mut out).string(&text).string("y");
    assert_eq!(out[0], marker::LONG_STRING);
    let expected = [&*text, "y"].map(|text| Value::String(text.as_bytes()));
    assert_eq!(decode(&out), Ok(expected.to_vec()));
}

#[test]
fn nesting_is_refused_beyond_the_limit() {
    let nest = |depth: usize| [[0x0a, 0, 0, 0, 1]; 10_000][..depth].concat();
    let mut allowed = nest(15);
    allowed.push(marker::NULL);
    assert!(decode(&allowed).is_ok());
    assert_eq!(decode(&nest(16)), Err(Error::CountBeyondEnd(1)));
    assert_eq!(decode(&[nest(16), vec![5]].concat()), Err(Error::TooDeep));
    let lists = [nest(10_000), vec![5]].concat();
    let objects = [0x03, 0, 1, b'k'].repeat(10_000);
    for endless in [lists, objects] {
        assert_eq!(decode(&endless), Err(Error::TooDeep));
    }
}

#[test]
fn counts_are_checked_before_they_are_believed() {
    let lie = [0x0a, 0xff, 0xff, 0xff, 0xff, 0x05];
    assert_eq!(decode(&lie), Err(Error::CountBeyondEnd(u32::MAX)));
    let many = [&[0x0a, 0, 0, 8, 0][..], &[0x05; 2048]].concat();
    assert_eq!(decode(&many), Err(Error::TooManyValues));
    assert_eq!(decode(&[5; 1025]), Err(Error::TooManyValues));
    assert_eq!(decode(&[5; 1024]).map(|v| v.len()), Ok(1024));
}

#[test]
fn an_ecma_count_is_a_hint() {
    for count in [0_u32, 1, 77, u32::MAX] {
        let mut bytes = vec![0x08];
        bytes.extend_from_slice(&count.to_be_bytes());
        bytes.extend_from_slice(&[0, 1, b'a', 5, 0, 0, 9]);
        let array = Value::EcmaArray(vec![(b"a", Value::Null)]);
        assert_eq!(decode(&bytes), Ok(vec![array]));
    }
}

#[test]
fn amf3_takes_the_rest() {
    let expected = vec![Value::Null, Value::Amf3(&[0xde, 0xad])];
    assert_eq!(decode(&[5, 0x11, 0xde, 0xad]), Ok(expected));
}

#[test]
fn unknown_markers_are_named() {
    for marker in [0x04, 0x09, 0x0e, 0x12, 0xff] {
        assert_eq!(decode(&[marker]), Err(Error::UnknownMarker(marker)));
    }
}

#[test]
fn properties_are_found_in_any_case_and_any_object() {
    let value = Value::EcmaArray(vec![(b"tcurl", Value::String(b"rtmp://h"))]);
    let found = value.property("tcUrl").and_then(Value::text);
    assert_eq!(found.as_deref(), Some("rtmp://h"));
    assert_eq!(Value::Null.property("tcUrl"), None);
}

proptest! {
    #[test]
    fn noise_uses_up_no_more_than_it_has(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut decoder = Decoder::new(&bytes);
        while let Ok(Some(_)) = decoder.value() {}
        prop_assert!(bytes.ends_with(decoder.rest()));
    }
}
