//! Reading of a lane by ranges, for content requested in pieces: playlists, segments, parts.
//!
//! Control plane only. A reader holds no page and has no position of its own: each request names its range.

use std::ops::Range;

use bytes::Bytes;

use crate::format::Format;
use crate::index::{LaneIndex, PartState};
use crate::lane::{Lane, LaneGuard};

/// Keeps a lane open and reads it by ranges; made by [`Stream::ranges`](crate::Stream::ranges). It is not a listener:
/// the server of these requests counts its clients itself.
#[derive(Clone, Debug)]
pub struct RangeReader {
    guard: LaneGuard,
}

impl RangeReader {
    pub(crate) fn new(guard: LaneGuard) -> Self {
        Self { guard }
    }

    /// Returns the lane's format.
    pub fn format(&self) -> Format {
        self.guard.format()
    }

    /// Whether the lane has ended.
    pub fn is_ended(&self) -> bool {
        self.lane().ended()
    }

    /// Returns the index of segments that can be read now.
    pub fn index(&self) -> LaneIndex {
        let lane = self.lane();
        // Read before the index: when a lane ends, everything marked is in the index.
        let is_ended = lane.ended();
        match &lane.index {
            Some(index) => index.list(lane.log.start(), is_ended),
            None => LaneIndex {
                is_ended,
                ..LaneIndex::default()
            },
        }
    }

    /// Returns the bytes of `range` of the log, in pieces that share its pages; `None` unless the log has all of them.
    /// A page stays in memory for as long as a piece of it is held.
    pub fn range(&self, range: Range<u64>) -> Option<Vec<Bytes>> {
        self.lane().log.rope(range)
    }

    /// Returns the place of part `part` of segment `number`; `None` if it may still come. Before the first segment, any
    /// part may still come.
    pub fn place(&self, number: u64, part: usize) -> Option<PartState> {
        let lane = self.lane();
        let is_ended = lane.ended();
        let index = lane.index.as_ref();
        let place = index.map_or(Some(PartState::Gone), |index| {
            index.place(lane.log.start(), number, part)
        });
        match place {
            None | Some(PartState::TooFarAhead) if is_ended => Some(PartState::Ended),
            place => place,
        }
    }

    /// Waits until the place of part `part` of segment `number` is known. The first part of the next segment settles
    /// that a complete segment has no such part. It waits without a time limit, and is cancel safe.
    pub async fn wait_for(&self, number: u64, part: usize) -> PartState {
        let readers = &self.lane().readers;
        readers.wait_for(|| self.place(number, part)).await
    }

    /// Waits for `count` complete segments, or for the end of the lane. It waits without a time limit, and is cancel
    /// safe.
    pub async fn wait_for_segments(&self, count: usize) {
        let has_all = || {
            let index = self.index();
            (index.is_ended || index.has_complete(count)).then_some(())
        };
        self.lane().readers.wait_for(has_all).await;
    }

    fn lane(&self) -> &Lane {
        self.guard.lane()
    }
}
