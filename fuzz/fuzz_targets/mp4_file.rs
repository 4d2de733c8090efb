//! Strangers' files: whatever an MP4 file contains, its index is bounded, requests nothing beyond the file, and its samples and
//! the segments that are ranges of it lie within it.

#![no_main]

use container::mp4_file::index::{Indexer, Purpose, SAMPLES_MAX, SEGMENTS_MAX};
use libfuzzer_sys::fuzz_target;

/// Number of samples that are sent one by one, of many.
const SAMPLES: usize = 64;

/// Memory of a sample in bytes, and whatever follows from the bytes that were read.
const SAMPLE_BYTES: usize = 24;

fuzz_target!(|file: &[u8]| {
    for purpose in [Purpose::Segments, Purpose::Samples] {
        check(file, purpose);
    }
});

fn check(file: &[u8], purpose: Purpose) {
    let mut indexer = Indexer::new(file.len() as u64, purpose);
    let index = loop {
        let wants = indexer.wants();
        let bytes = &file[wants.start as usize..wants.end as usize];
        match indexer.take(bytes) {
            Ok(None) => {}
            Ok(Some(index)) => break index,
            Err(_) => return,
        }
    };
    assert!(index.memory() <= SAMPLES_MAX * SAMPLE_BYTES + 64 * file.len() + (1 << 20));
    let mut cursor = index.seek(media::Timestamp::from_millis(1_500));
    for _ in 0..SAMPLES {
        let Some(placed) = index.next(&mut cursor) else {
            break;
        };
        assert!(placed.range.start <= placed.range.end && placed.range.end <= file.len() as u64);
        assert!(placed.pts >= placed.dts);
    }
    let segments = index.segments().map_or(&[][..], |all| &**all);
    assert!(segments.len() <= SEGMENTS_MAX);
    for segment in segments {
        if let Some(range) = &segment.range {
            assert!(range.start < range.end && range.end <= file.len() as u64);
        }
    }
}
