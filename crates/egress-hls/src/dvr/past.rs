//! How far back a playlist reaches: what it lists of a window, and of the lane that goes on from there.

use std::collections::VecDeque;
use std::sync::Arc;

use fanout::{LaneIndex, Segment};
use media::Span;

use super::kept::Kept;
use crate::playlist;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Past {
    /// Segments that the lane no longer has, as far as they are listed.
    pub(crate) kept: Vec<Arc<Kept>>,
    /// How many of the lane's segments are not listed.
    unlisted: usize,
    /// Tells lists apart that have the same numbers.
    pub(crate) revision: u64,
}

impl Past {
    /// Of the live playlist of a lane that has `index`.
    pub(crate) fn none(index: &LaneIndex) -> Self {
        Self {
            kept: Vec::new(),
            unlisted: playlist::unlisted(index),
            revision: 0,
        }
    }

    /// Of a window of this length, beside a lane that has `index`.
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
        // No gap comes first.
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

    /// What is listed of the lane.
    pub(crate) fn present<'a>(&self, index: &'a LaneIndex) -> &'a [Arc<Segment>] {
        &index.segments[self.unlisted..]
    }
}

/// How many segments are older than the lane's. With a hole between the two, only the lane's are of use.
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
