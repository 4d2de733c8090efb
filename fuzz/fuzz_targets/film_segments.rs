//! Segments of strangers' MP4 files: each is as long as its head says, consists only of bytes of the file, takes no more memory
//! than was accounted for it, and is read once from beginning to end, whatever the windows. The same holds for the part that a
//! `Range` header requests.

#![no_main]

use std::ops::Range;

use container::mp4_file::index::Packaged;
use libfuzzer_sys::fuzz_target;

#[path = "../shared/film.rs"]
mod film;

/// Approximate number of windows in which a segment is read.
const WINDOWS: u64 = 256;

/// Number of segments that are packaged, of many: the first ones, and the last.
const SEGMENTS: usize = 4;

fuzz_target!(|input: &[u8]| {
    let Some((file, text)) = film::split(input) else {
        return;
    };
    let length = file.len() as u64;
    let most = text.bytes().map(u64::from).sum::<u64>() + 1;
    if let Some(part) = vod::fuzzing::part(&text, length) {
        assert!(part.start < part.end && part.end <= length);
        check(vec![part], most);
    }
    let Some(index) = film::index(file) else {
        return;
    };
    let count = index.segments().map_or(0, |segments| segments.len());
    for number in (0..count.min(SEGMENTS)).chain(count.checked_sub(1)) {
        let Some(Packaged { head, ranges }) = index.packaged(number) else {
            continue;
        };
        let taken = head.len() + ranges.len() * size_of::<Range<u64>>();
        assert!(Some(taken) <= index.packaged_memory(number));
        assert!(
            ranges
                .iter()
                .all(|it| it.start <= it.end && it.end <= length)
        );
        let (_, [size @ .., b'm', b'd', b'a', b't']) = head.split_last_chunk::<8>().expect("a box")
        else {
            panic!("it ends with the media's header");
        };
        let bytes: u64 = ranges.iter().map(|it| it.end - it.start).sum();
        assert_eq!(u64::from(u32::from_be_bytes(*size)), bytes + 8);
        check(ranges, most);
    }
    assert!(index.packaged(count).is_none());
});

/// Checks that the windows of ranges are full except the last, and contain all ranges in order.
fn check(ranges: Vec<Range<u64>>, most: u64) {
    // Samples may share the bytes of a small file.
    let bytes: u64 = ranges.iter().map(|it| it.end - it.start).sum();
    let most = most.max(bytes / WINDOWS);
    let windows = vod::fuzzing::windows(ranges.clone(), most);
    let lengths = windows
        .iter()
        .map(|window| -> u64 { window.iter().map(|it| it.end - it.start).sum() });
    let lengths: Vec<_> = lengths.collect();
    if let Some((last, others)) = lengths.split_last() {
        assert!(others.iter().all(|it| *it == most) && (1..=most).contains(last));
    }
    let joined = |ranges: &mut dyn Iterator<Item = Range<u64>>| -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = Vec::new();
        for range in ranges.filter(|it| !it.is_empty()) {
            match all.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => all.push(range),
            }
        }
        all
    };
    let read = joined(&mut windows.into_iter().flatten());
    assert_eq!(read, joined(&mut ranges.into_iter()));
}
