//! Checks on items for the demuxers' tests, and a reader of tags.

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

/// The frames of an ID3v2.4 tag: names and contents.
pub(crate) fn id3_frames(tag: &[u8]) -> Vec<(String, Vec<u8>)> {
    let size = |at: &[u8]| {
        at[..4].iter().fold(0, |size, byte| {
            assert!(*byte < 0x80, "a size has seven bits to a byte");
            size << 7 | usize::from(*byte)
        })
    };
    assert_eq!(tag[..6], *b"ID3\x04\x00\x00");
    assert_eq!(size(&tag[6..]), tag.len() - 10);
    let mut rest = &tag[10..];
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let (head, behind) = rest.split_at(10);
        let (content, next) = behind.split_at(size(&head[4..]));
        let name = String::from_utf8(head[..4].to_vec()).expect("a name");
        frames.push((name, content.to_vec()));
        rest = next;
    }
    frames
}
