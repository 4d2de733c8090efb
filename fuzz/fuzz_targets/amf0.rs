//! AMF0: values are no larger than the bytes they came from, nest no deeper than allowed, and are equal after writing and
//! reading them again.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use rtmp::amf0::{DEPTH_MAX, Decoder, Encoder, VALUES_MAX, Value};

fn decode(bytes: &[u8]) -> Vec<Value<'_>> {
    let mut decoder = Decoder::new(bytes);
    let mut values = Vec::new();
    while let Ok(Some(value)) = decoder.value() {
        values.push(value);
    }
    assert!(bytes.ends_with(decoder.rest()));
    values
}

fn encode(values: &[Value<'_>]) -> BytesMut {
    let mut bytes = BytesMut::new();
    for value in values {
        Encoder::new(&mut bytes).value(value);
    }
    bytes
}

/// Returns the number of values in `value`, itself included, and their nesting depth.
fn measure(value: &Value<'_>) -> (u32, u32) {
    let inner: Vec<_> = match value {
        Value::StrictArray(items) => items.iter().map(measure).collect(),
        _ => value
            .properties()
            .map(|properties| properties.iter().map(|(_, v)| measure(v)).collect())
            .unwrap_or_default(),
    };
    let count = inner.iter().map(|(count, _)| count).sum::<u32>();
    let depth = inner.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
    (1 + count, 1 + depth)
}

fuzz_target!(|data: &[u8]| {
    let values = decode(data);
    let sizes: Vec<_> = values.iter().map(measure).collect();
    let count: u32 = sizes.iter().map(|(count, _)| count).sum();
    assert!(count <= VALUES_MAX && count as usize <= data.len());
    assert!(sizes.iter().all(|(_, depth)| *depth <= DEPTH_MAX));

    // Compared as bytes, since a number need not equal itself.
    let written = encode(&values);
    assert!(
        written.len() <= data.len(),
        "no value has a longer form than the one written"
    );
    assert_eq!(encode(&decode(&written)), written);
});
