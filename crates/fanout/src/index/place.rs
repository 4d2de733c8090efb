//! Place of a requested part: the rules of blocking playlist reloads (RFC 8216bis §6.2.5.2).

use std::collections::VecDeque;
use std::sync::Arc;

use media::Span;

use super::{Segment, Segmentation};

/// Number of segments that may be requested beyond the newest one: further ones are a mistake (§6.2.5.2).
const SEGMENTS_AHEAD_MAX: u64 = 2;

/// Number of parts that may be requested beyond the newest one: this much time, and at least this many (§6.2.5.2).
const PARTS_AHEAD_SPAN: Span = Span::from_millis(3_000);
const PARTS_AHEAD_MIN: i64 = 3;

/// State of a requested part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PartState {
    /// The part exists. A number beyond the last part of a segment means the first part of the next.
    There {
        /// Number of the segment.
        number: u64,
        /// Index of the part in its segment.
        part: usize,
    },
    /// The log no longer has the part.
    Gone,
    /// The lane has ended without the part.
    Ended,
    /// The part is so far ahead that no reader that keeps up requests it.
    TooFarAhead,
}

/// Returns the place of part `part` of segment `number`; `None` if it may still come.
pub(super) fn find(
    list: &VecDeque<Arc<Segment>>,
    segmentation: &Segmentation,
    mut number: u64,
    mut part: usize,
) -> Option<PartState> {
    let (first, last) = (list.front()?.number, list.back()?.number);
    if number < first {
        return Some(PartState::Gone);
    }
    let mut has = 0;
    for segment in list.iter().skip((number - first).try_into().ok()?) {
        if part < segment.parts.len() {
            return Some(PartState::There { number, part });
        }
        if !segment.is_complete {
            has = segment.parts.len();
            break;
        }
        (number, part) = (number + 1, 0);
    }
    let is_far = number > last + SEGMENTS_AHEAD_MAX || part - has >= parts_ahead(segmentation);
    is_far.then_some(PartState::TooFarAhead)
}

/// Returns the number of parts that may be requested beyond the newest one.
fn parts_ahead(segmentation: &Segmentation) -> usize {
    let part = segmentation.part_max.ticks().max(1);
    let count = PARTS_AHEAD_SPAN.ticks() / part;
    count.max(PARTS_AHEAD_MIN) as usize
}
