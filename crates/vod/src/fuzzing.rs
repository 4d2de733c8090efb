//! Entry points of the fuzz targets: answers about a file with arbitrary contents, without a disk.

use std::ops::Range;
use std::sync::Arc;

use container::mp4_file::index::Index;

use crate::playlist::{Playlist, Suffix};
use crate::range::Requested;
use crate::text::Entries;
use files::Ranges;

/// Renders the playlist of a file; `None` if it has no segments, or the query is too long to be repeated.
pub fn playlist(name: &str, index: &Index, query: &str) -> Option<String> {
    let (segments, suffix) = (index.segments().ok()?, Suffix::of(query, &[])?);
    let mut playlist = Playlist::new(name, Arc::clone(segments), suffix);
    let mut text = String::new();
    while playlist.next(&mut text) {}
    Some(text)
}

/// Splits ranges of a file into the windows in which they are read, each of at most `most` bytes.
pub fn windows(ranges: Vec<Range<u64>>, most: u64) -> Vec<Vec<Range<u64>>> {
    let mut left = Ranges::from(ranges);
    let windows = std::iter::from_fn(|| (!left.is_empty()).then(|| left.take(most)));
    windows.collect()
}

/// Returns the range that the value of a `Range` header requests from a file of this length, if it is a part.
pub fn part(value: &str, length: u64) -> Option<Range<u64>> {
    match crate::range::requested(value, length) {
        Requested::Part(range) => Some(range),
        Requested::Whole | Requested::Beyond => None,
    }
}
