//! Extent of a playlist into the past: the listed segments of a window, and those of the lane that continues it.

use std::collections::VecDeque;
use std::sync::Arc;

use fanout::{LaneIndex, Segment};
use media::Span;

use super::kept::Kept;
use crate::playlist;

/// Segments that a playlist lists before the lane's, and the number of the lane's that it omits.
#[derive(Debug)]
pub(crate) struct Past {
    /// Listed segments that the lane no longer has.
    pub(crate) kept: Vec<Arc<Kept>>,
    /// Number of the lane's segments that are not listed.
    unlisted: usize,
    /// Revision that distinguishes lists with the same segment numbers.
    pub(crate) revision: u64,
}

impl Past {
    /// Makes the past of the live playlist of a lane that has `index`.
    pub(crate) fn none(index: &LaneIndex) -> Self {
        Self {
            kept: Vec::new(),
            unlisted: playlist::unlisted(index),
            revision: 0,
        }
    }

    /// Makes the past of a window of this length, beside a lane that has `index`.
    pub(super) fn of(
        kept: &VecDeque<Arc<Kept>>,
        revision: u64,
        length: Span,
        index: &LaneIndex,
    ) -> Self {
        let before = before(kept, index);
        let newest = index.segments.last().map(|segment| segment.end());
        let end = newest.or_else(|| kept.back().map(|kept| kept.end()));
        let is_old = |at| end.is_some_and(|end| end - at > length);
        let begin = kept.partition_point(|kept| is_old(kept.end())).min(before);
        // A list never begins with a gap.
        let listed = kept.range(begin..before);
        let listed = listed.skip_while(|kept| kept.segment.is_gap);
        let unlisted = index.segments.iter();
        let unlisted = unlisted.take_while(|segment| is_old(segment.end())).count();
        Self {
            kept: listed.cloned().collect(),
            unlisted: unlisted.min(playlist::unlisted(index)),
            revision,
        }
    }

    /// Returns the listed segments of the lane.
    pub(crate) fn present<'a>(&self, index: &'a LaneIndex) -> &'a [Arc<Segment>] {
        &index.segments[self.unlisted..]
    }
}

/// Returns how many kept segments are older than the lane's. If segments are missing between the two, only the lane's
/// are usable, and it returns 0.
fn before(kept: &VecDeque<Arc<Kept>>, index: &LaneIndex) -> usize {
    let Some(first) = index.segments.first() else {
        return kept.len();
    };
    let count = kept.partition_point(|kept| kept.number() < first.number);
    let last = count.checked_sub(1).map(|last| &kept[last]);
    match last.is_some_and(|last| last.number() + 1 == first.number) {
        true => count,
        false => 0,
    }
}
