use bytes::BytesMut;
use proptest::prelude::*;

use super::*;

fn encoded(value: &Value<'_>) -> BytesMut {
    let mut out = BytesMut::new();
    Encoder::new(&mut out).value(value);
    out
}

fn decode(bytes: &[u8]) -> Result<Vec<Value<'_>>, Error> {
    let mut decoder = Decoder::new(bytes);
    let mut values = Vec::new();
    while let Some(value) = decoder.value()? {
        values.push(value);
    }
    Ok(values)
}

/// A value that owns its contents, for the generator.
#[derive(Debug, Clone)]
enum Owned {
    Number(f64),
    Boolean(bool),
    String(Vec<u8>),
    Leaf(u8),
    Xml(Vec<u8>),
    Object(u8, Vec<(Vec<u8>, Self)>),
    List(Vec<Self>),
}

impl Owned {
    fn borrow(&self) -> Value<'_> {
        match self {
            Self::Number(number) => Value::Number(*number),
            Self::Boolean(value) => Value::Boolean(*value),
            Self::String(text) => Value::String(text),
            Self::Xml(text) => Value::Xml(text),
            Self::Leaf(0) => Value::Null,
            Self::Leaf(1) => Value::Undefined,
            Self::Leaf(2) => Value::Unsupported,
            Self::Leaf(3) => Value::Date {
                milliseconds: 1e12,
                zone: -60,
            },
            Self::Leaf(number) => Value::Reference(u16::from(*number)),
            Self::List(items) => Value::StrictArray(items.iter().map(Self::borrow).collect()),
            Self::Object(form, members) => {
                let properties = members.iter().map(|(k, v)| (&k[..], v.borrow())).collect();
                match form {
                    0 => Value::Object(properties),
                    1 => Value::EcmaArray(properties),
                    _ => Value::TypedObject {
                        class: b"Class",
                        properties,
                    },
                }
            }
        }
    }
}

fn any_value() -> impl Strategy<Value = Owned> {
    let leaf = prop_oneof![
        prop::num::f64::NORMAL.prop_map(Owned::Number),
        any::<bool>().prop_map(Owned::Boolean),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Owned::String),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Owned::Xml),
        (0..8_u8).prop_map(Owned::Leaf),
    ];
    leaf.prop_recursive(6, 200, 8, |inner| {
        let key = prop::collection::vec(any::<u8>(), 1..12);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Owned::List),
            (0..3_u8, prop::collection::vec((key, inner), 0..8))
                .prop_map(|(form, members)| Owned::Object(form, members)),
        ]
    })
}

#[test]
fn long_strings_round_trip() {
    let text = vec![b'x'; 70_000];
    let out = encoded(&Value::String(&text));
    assert_eq!(out[0], marker::LONG_STRING);
    assert_eq!(decode(&out), Ok(vec![Value::String(&text)]));
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
fn an_empty_key_is_a_key_unless_the_end_follows() {
    let bytes = [3, 0, 0, 5, 0, 0, 9];
    let object = Value::Object(vec![(b"", Value::Null)]);
    assert_eq!(decode(&bytes), Ok(vec![object]));
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
    fn values_round_trip(values in prop::collection::vec(any_value(), 0..4)) {
        let values: Vec<_> = values.iter().map(Owned::borrow).collect();
        let mut out = BytesMut::new();
        for value in &values {
            Encoder::new(&mut out).value(value);
        }
        prop_assert_eq!(decode(&out), Ok(values));
    }

    #[test]
    fn every_cut_is_noticed(value in any_value(), at in any::<prop::sample::Index>()) {
        let value = value.borrow();
        let out = encoded(&value);
        let cut = at.index(out.len());
        prop_assert_ne!(decode(&out[..cut]), Ok(vec![value]));
    }

    #[test]
    fn noise_uses_up_no_more_than_it_has(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut decoder = Decoder::new(&bytes);
        while let Ok(Some(_)) = decoder.value() {}
        prop_assert!(bytes.ends_with(decoder.rest()));
    }
}
