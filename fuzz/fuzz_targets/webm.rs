//! WebM: the cut of the input makes no difference, and no byte is lost uncounted.

#![no_main]

use container::Demuxer;
use libfuzzer_sys::fuzz_target;
use media::{Item, Timestamp};

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

// The first byte chooses how the rest is cut.
fuzz_target!(|data: &[u8]| {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    {
        let content_type = "video/webm";
        let whole = demux(content_type, std::iter::once(input));
        let cut = demux(content_type, input.chunks(usize::from(*cut) + 1));
        assert_eq!(whole, cut, "the cut made a difference");
        let accounted = whole.bytes.len() as u64 + whole.skipped_bytes;
        assert_eq!(accounted, input.len() as u64, "bytes were lost or made up");
    }
});
