//! Checks on items for the demuxers' tests.

use media::{Item, Sample};

pub(crate) fn samples(items: &[Item]) -> Vec<&Sample> {
    let samples = items.iter().filter_map(|item| match item {
        Item::Sample(sample) => Some(sample),
        _ => None,
    });
    samples.collect()
}

/// Header and sample bytes, in order.
pub(crate) fn stream_bytes(items: &[Item]) -> Vec<u8> {
    let parts = items.iter().map(|item| match item {
        Item::Header(bytes) => &bytes[..],
        Item::Sample(sample) => &sample.data[..],
        _ => &[],
    });
    parts.collect::<Vec<_>>().concat()
}
