//! Properties of every demuxer of a source's bytes.

use container::Demuxer;
use media::{Item, Timestamp};

/// Demuxes `data` whole and in pieces, whose size its first byte chooses. Up to `added_max` bytes may be added with each
/// header.
///
/// # Panics
/// Panics if the cut makes a difference, if bytes are lost uncounted or made up, or if time goes back.
pub(crate) fn check(content_type: &str, added_max: u64, data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = demux(content_type, std::iter::once(input));
    let pieces = demux(content_type, input.chunks(usize::from(*cut) + 1));
    assert_eq!(whole, pieces, "the cut made a difference");
    let accounted = whole.bytes.len() as u64 + whole.skipped_bytes;
    let added = accounted.checked_sub(input.len() as u64);
    let added = added.expect("no bytes are lost uncounted");
    assert!(added <= whole.headers * added_max, "bytes were made up");
}

/// Output of the demuxer for some input.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Every item, as text.
    items: Vec<String>,
    bytes: Vec<u8>,
    headers: u64,
    skipped_bytes: u64,
}

fn demux<'a>(content_type: &str, pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let mut demuxer = Demuxer::for_content_type(content_type);
    let mut items = Vec::new();
    for piece in pieces {
        demuxer.push(piece, &mut items);
    }
    demuxer.finish(&mut items);
    let (mut bytes, mut headers) = (Vec::new(), 0);
    let mut last = Timestamp::ZERO;
    for item in &items {
        match item {
            Item::Header(header) => {
                headers += 1;
                bytes.extend_from_slice(header);
            }
            Item::Sample(sample) => {
                assert!(sample.dts >= last, "time went back");
                assert!(sample.pts >= sample.dts);
                last = sample.dts;
                bytes.extend_from_slice(&sample.data);
            }
            _ => {}
        }
    }
    let items = items.iter().map(|item| format!("{item:?}")).collect();
    Outcome {
        items,
        bytes,
        headers,
        skipped_bytes: demuxer.skipped_bytes(),
    }
}
