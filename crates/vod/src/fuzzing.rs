//! For the fuzz targets: what clients are told and sent of a file that may say anything, without a disk.

use std::ops::Range;
use std::sync::Arc;

use container::mp4_file::index::Index;

use crate::playlist::{Playlist, Suffix};
use crate::range::Requested;
use crate::ranges::Ranges;
use crate::text::Entries;

/// The playlist of a file; `None` if it has no segments, or the query is longer than is repeated.
pub fn playlist(name: &str, index: &Index, query: &str) -> Option<String> {
    let (segments, suffix) = (index.segments().ok()?, Suffix::of(query, &[])?);
    let mut playlist = Playlist::new(name, Arc::clone(segments), suffix);
    let mut text = String::new();
    while playlist.next(&mut text) {}
    Some(text)
}

/// The windows in which ranges of a file are read, of so many bytes at most.
pub fn windows(ranges: Vec<Range<u64>>, most: u64) -> Vec<Vec<Range<u64>>> {
    let mut left = Ranges::from(ranges);
    let windows = std::iter::from_fn(|| (!left.is_empty()).then(|| left.take(most)));
    windows.collect()
}

/// What the value of a `Range` header wants of a file of this length, if it is a part.
pub fn part(value: &str, length: u64) -> Option<Range<u64>> {
    match crate::range::requested(value, length) {
        Requested::Part(range) => Some(range),
        Requested::Whole | Requested::Beyond => None,
    }
}
