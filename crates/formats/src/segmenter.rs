//! Where segments begin, and which numbers they have (RFC 8216bis §6.2.1).
//!
//! ```text
//! slot        0          1          2          3
//!        ├──────────┼──────────┼──────────┼──────────┤  stream time
//! key    K    K    K    K    K    K                K
//! begins │0         │1        │2        ╎3         │4
//!                                       └ no keyframe came in slot 3: at its last moment
//! ```
//!
//! The stream's time is divided into slots. A segment begins at the first keyframe of a slot, or, if the
//! slot has none, with the last part that would still lie in it. Its number is that of the slot, and one more for each
//! epoch; for where one epoch follows another, a slot has two segments. So a lane that opens at any time,
//! on any node, numbers what follows alike, and no segment is longer than two slots.
//!
//! What begins without its turn, because the headers changed, has the next number all the same; the slots
//! that follow then have one segment less.

use std::sync::Arc;

use fanout::{Preamble, SegmentStart, Segmentation};
use media::Timestamp;

/// How many slots a segment's number may be behind its slot: one whose keyframe is still to come, and one
/// more where an epoch ends before that. More than that there was no media.
const LAG_MAX: u64 = 2;

/// Decides for one lane.
#[derive(Debug)]
pub(crate) struct Segmenter {
    bounds: Segmentation,
    /// It saw an epoch begin.
    knows_beginning: bool,
    open: Option<Open>,
    /// What the next part begins, and when.
    begins: Option<Begin>,
    /// What a reader needs first.
    preamble: Arc<Preamble>,
}

/// The segment that parts are added to.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: u64,
    start: Timestamp,
}

/// A segment to come.
#[derive(Clone, Copy, Debug)]
struct Begin {
    /// When it begins; `None` for when its first part does.
    at: Option<Timestamp>,
    is_discontinuous: bool,
}

impl Segmenter {
    pub(crate) fn new(bounds: Segmentation) -> Self {
        Self {
            bounds,
            knows_beginning: false,
            open: None,
            begins: None,
            preamble: Arc::default(),
        }
    }

    pub(crate) fn bounds(&self) -> Segmentation {
        self.bounds
    }

    /// Another epoch begins.
    pub(crate) fn begin_epoch(&mut self) {
        self.knows_beginning = true;
    }

    /// Whether a segment begins with what is to be decoded at `at`, in that epoch.
    pub(crate) fn splits_at(&self, at: Timestamp, is_independent: bool, epoch: u32) -> bool {
        let Some(open) = &self.open else {
            return true;
        };
        let part = self.bounds.part_max;
        let is_due = open.number < self.slot(at, epoch);
        let is_last_moment = self.slot(at + part, epoch) > self.slot(at, epoch);
        let is_long = at - open.start + part > self.bounds.segment_max();
        is_due && (is_independent || is_last_moment) || is_long
    }

    /// A segment begins at `at`, with the next part.
    pub(crate) fn split(&mut self, at: Timestamp) {
        self.begins = Some(Begin {
            at: Some(at),
            is_discontinuous: self.begins.is_some_and(|begin| begin.is_discontinuous),
        });
    }

    /// What follows is described by `preamble`, and so is in another segment.
    pub(crate) fn describe(&mut self, preamble: Arc<Preamble>) {
        self.preamble = preamble;
        self.begins = Some(Begin {
            at: self.begins.and_then(|begin| begin.at),
            is_discontinuous: self.open.is_some(),
        });
    }

    /// The segment that the part begins which begins at `at`, if it does. `is_first` of its epoch it always
    /// does.
    pub(crate) fn part(
        &mut self,
        at: Timestamp,
        is_first: bool,
        epoch: u32,
    ) -> Option<SegmentStart> {
        let begin = self.begins.take();
        if begin.is_none() && !is_first && self.open.is_some() {
            return None;
        }
        let at = begin.and_then(|begin| begin.at).unwrap_or(at);
        let slot = self.slot(at, epoch);
        let number = match self.open {
            // Slots without media are passed over.
            Some(open) if slot > open.number + LAG_MAX => slot,
            Some(open) => open.number + 1,
            None => slot,
        };
        // A lane that opens amidst an epoch cannot know whether it begins where the segment does.
        let is_whole = self.open.is_some() || self.knows_beginning && is_first;
        self.open = Some(Open { number, start: at });
        Some(SegmentStart {
            number,
            is_whole,
            is_discontinuous: begin.is_some_and(|begin| begin.is_discontinuous),
            preamble: Arc::clone(&self.preamble),
        })
    }

    /// The slot that `at` lies in, of that epoch.
    fn slot(&self, at: Timestamp, epoch: u32) -> u64 {
        let ticks = (at - Timestamp::ZERO).ticks().max(0);
        let slot = ticks / self.bounds.segment.ticks().max(1);
        slot.unsigned_abs() + u64::from(epoch)
    }
}
