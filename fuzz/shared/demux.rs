//! What holds for every demuxer of a source's bytes.

use container::Demuxer;
use media::{Item, Timestamp};

/// Demuxes `data` whole and in pieces, whose size its first byte chooses.
///
/// # Panics
/// When the cut makes a difference, when bytes are lost uncounted, or when time goes back.
pub(crate) fn check(content_type: &str, data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = demux(content_type, std::iter::once(input));
    let pieces = demux(content_type, input.chunks(usize::from(*cut) + 1));
    assert_eq!(whole, pieces, "the cut made a difference");
    let accounted = whole.bytes.len() as u64 + whole.skipped_bytes;
    assert_eq!(accounted, input.len() as u64, "bytes were lost or made up");
}

/// What the demuxer made of some input.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Every item, in words.
    items: Vec<String>,
    bytes: Vec<u8>,
    skipped_bytes: u64,
}

fn demux<'a>(content_type: &str, pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let mut demuxer = Demuxer::for_content_type(content_type);
    let mut items = Vec::new();
    for piece in pieces {
        demuxer.push(piece, &mut items);
    }
    demuxer.finish(&mut items);
    let mut bytes = Vec::new();
    let mut last = Timestamp::ZERO;
    for item in &items {
        match item {
            Item::Header(header) => bytes.extend_from_slice(header),
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
        skipped_bytes: demuxer.skipped_bytes(),
    }
}
