//! AMF0: values are no larger than the bytes they came from, and nest no deeper than allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtmp::amf0::{DEPTH_MAX, Decoder, VALUES_MAX, Value};

fn decode(bytes: &[u8]) -> Vec<Value<'_>> {
    let mut decoder = Decoder::new(bytes);
    let mut values = Vec::new();
    while let Ok(Some(value)) = decoder.value() {
        values.push(value);
    }
    assert!(bytes.ends_with(decoder.rest()));
    values
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
});
