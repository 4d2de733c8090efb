//! WebM files: clusters, unchanged.
//!
//! * A [`Walk`](crate::Walk) over [`Elements`] finds the whole part of a finished file.
//! * [`ClusterSearch`] finds the cluster at which a listener begins in order to play from a given time.
//! * [`Splice`] joins what was read at such places, in one file after another, into one stream.

use std::ops::Range;

use super::ebml::{self, Front, HEAD_BYTES_MAX, id};
pub use super::search::ClusterSearch;
pub use super::splice::Splice;
use crate::walk::{Closed, Piece, Pieces};

/// Bytes of a segment's identifier.
const SEGMENT_ID_BYTES: u64 = 4;

/// Elements of a file, which do not state its duration. A cluster of known size is one piece; in a cluster of unknown
/// size, as live streams write it, each block is one.
#[derive(Debug, Default)]
pub struct Elements {
    has_media: bool,
    /// End of the segment and range of its size field, if it states a size.
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
            // Their children follow.
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
        // The segment's size in a file that was sent as a stream is that of the source file; the size of this one is
        // not known.
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
