//! A file of WebM: clusters, as they are.
//!
//! * [`walk`] finds the whole part of one that is written no more.
//! * [`search`] finds the cluster that a listener begins with who wants a time.
//! * [`Splice`] makes one stream of what was read at such places, in one file after another.

use std::ops::Range;

use media::Span;

use super::ebml::{self, Front, HEAD_BYTES_MAX, id};
pub use super::search::ClusterSearch;
pub use super::splice::Splice;
use crate::walk::{Closed, Piece, Pieces, Walk};

/// Goes through a file of so many bytes. It does not tell how long that lasts.
pub fn walk(file_bytes: u64) -> Walk<Elements> {
    Walk::of(file_bytes)
}

/// A search for a time in a file of so many bytes.
pub fn search(to: Span, file_bytes: u64) -> ClusterSearch {
    ClusterSearch::new(to, file_bytes)
}

/// Bytes of a segment's identifier.
const SEGMENT_ID_BYTES: u64 = 4;

/// See [`walk`]. A cluster of known size is one piece; of one that has none, as live streams write them, each block is.
#[derive(Debug, Default)]
pub struct Elements {
    has_media: bool,
    /// The size of the segment, if it says one: where it ends, and the field that says so.
    segment: Option<(u64, Range<u64>)>,
}

impl Pieces for Elements {
    fn piece(&mut self, front: &[u8], at: u64, left: u64) -> Piece {
        let head = match ebml::head(front) {
            Front::Unclear => return Piece::Short(HEAD_BYTES_MAX.max(front.len() + 1)),
            Front::Garbage => return Piece::Foreign,
            Front::Head(head) => head,
        };
        if at == 0 && head.id != id::EBML {
            return Piece::Foreign;
        }
        match (head.id, head.size) {
            // What is in them follows.
            (id::SEGMENT, size) => {
                let content = at + head.bytes as u64;
                let field = at + SEGMENT_ID_BYTES..content;
                self.segment = size.map(|size| (content.saturating_add(size), field));
                Piece::Whole(head.bytes as u64)
            }
            (id::CLUSTER, None) => Piece::Whole(head.bytes as u64),
            (_, None) => Piece::Foreign,
            (kind, Some(size)) => {
                let bytes = size.saturating_add(head.bytes as u64);
                let is_media = matches!(kind, id::SIMPLE_BLOCK | id::BLOCK_GROUP | id::CLUSTER);
                self.has_media |= is_media && bytes <= left;
                Piece::Whole(bytes)
            }
        }
    }

    fn close(&mut self, bytes: u64) -> Closed {
        if !self.has_media {
            return Closed::default();
        }
        // The segment of a file that was sent as a stream says the file's size; of this one it is not known.
        let wrong = self.segment.take().filter(|(end, _)| *end != bytes);
        let patch = wrong.map(|(_, field)| {
            let width = field.end - field.start;
            let mut unknown = vec![0xFF; width as usize];
            unknown[0] = 0xFF >> (width - 1);
            (field.start, unknown)
        });
        Closed {
            bytes,
            duration: None,
            patches: patch.into_iter().collect(),
        }
    }
}
