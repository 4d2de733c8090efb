//! Segments and their parts.

use std::ops::Range;
use std::sync::Arc;

use log::Preamble;
use media::{Span, TimedEvent, Timestamp};

use super::TitleChange;

/// Upper bound on listed parts of one segment: ten times as many as segments usually have. Further parts are in their
/// segment's range, and are not listed by themselves.
const PARTS_MAX: usize = 128;

/// Bounds of parts and segments; they hold for as long as the lane is open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Segmentation {
    /// Longest duration of a part.
    pub part_max: Span,
    /// Distance of segments: each begins at the first keyframe of its slot of the stream's time.
    pub segment: Span,
}

impl Segmentation {
    /// Half a second per part and three per segment. A part ends before the sample that would exceed the bound; it is
    /// longer than 85 % of the bound from 14 frames a second on (RFC 8216bis §4.4.4.9). A segment has a keyframe at its
    /// beginning if there is one every three seconds.
    pub const DEFAULT: Self = Self {
        part_max: Span::from_millis(500),
        segment: Span::from_millis(3_000),
    };

    /// Returns the longest duration of a segment, unless the last sample of its epoch lasts longer: the slot it begins
    /// in, and the next.
    pub fn segment_max(&self) -> Span {
        self.segment + self.segment
    }
}

/// A packager's description of a part.
#[derive(Clone, Debug)]
pub struct Part {
    /// Duration of the part.
    pub duration: Span,
    /// Whether some sample in it can be decoded without earlier ones.
    pub is_independent: bool,
    /// Description of the segment that it begins, if any.
    pub starts: Option<SegmentStart>,
}

/// A packager's description of a segment.
#[derive(Clone, Debug)]
pub struct SegmentStart {
    /// Number of the segment, larger than that of the previous one.
    pub number: u64,
    /// Whether any node has this segment with the same number and beginning. `false` if the lane was opened in the
    /// middle of it.
    pub is_whole: bool,
    /// Whether it does not continue the previous segment, although both belong to the same epoch.
    pub is_discontinuous: bool,
    /// Headers that a reader needs before it.
    pub preamble: Arc<Preamble>,
}

/// A marked part of a log.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) range: Range<u64>,
    pub(crate) at: Timestamp,
    pub(crate) epoch: u32,
    pub(crate) part: Part,
    /// Whether its segment ends with it.
    pub(crate) ends_segment: bool,
}

impl Mark {
    pub(super) fn end(&self) -> Timestamp {
        self.at + self.part.duration
    }
}

/// A segment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Segment {
    /// Media sequence number.
    pub number: u64,
    /// Number of its epoch; the stream's first one is 1.
    pub epoch: u32,
    /// Number of discontinuities before its first byte: epochs, and changes of the headers within one. If it differs
    /// from that of the previous segment, there is one between the two. Nodes agree on it but for changes within an
    /// epoch that one of them has not seen.
    pub discontinuity: u64,
    /// Range of its bytes in the log.
    pub range: Range<u64>,
    /// Media time at which it begins, on the stream's timeline.
    pub start: Timestamp,
    /// Its duration.
    pub duration: Span,
    /// Headers that a reader needs before it: the initialization segment.
    pub preamble: Arc<Preamble>,
    /// Its parts, in order; none in a gap.
    pub parts: Vec<ListedPart>,
    /// Events since the previous segment began, and those at its own start.
    pub events: Vec<Arc<TimedEvent>>,
    /// Title in force at its beginning: the last of `titles`, if there are any.
    pub title: Option<Arc<TitleChange>>,
    /// Titles since the previous segment began, and those at its own start.
    pub titles: Vec<Arc<TitleChange>>,
    /// Whether any node has it with the same number and beginning. `false` if the lane was opened in the middle of it:
    /// another node may have more of it, so it must not be cached for others.
    pub is_whole: bool,
    /// Whether there was no media in its time.
    pub is_gap: bool,
    /// Whether it no longer grows.
    pub is_complete: bool,
}

/// A part of a segment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListedPart {
    /// Range of its bytes in the log.
    pub range: Range<u64>,
    /// Media time at which it begins, on the stream's timeline.
    pub start: Timestamp,
    /// Its duration.
    pub duration: Span,
    /// Whether some sample in it can be decoded without earlier ones.
    pub is_independent: bool,
}

impl Segment {
    /// Returns the media time at which it ends, as far as it has grown.
    pub fn end(&self) -> Timestamp {
        self.start + self.duration
    }

    /// Creates an empty segment that begins with the marked part.
    pub(super) fn begin(mark: &Mark, start: SegmentStart, number: u64, discontinuity: u64) -> Self {
        Self {
            number,
            epoch: mark.epoch,
            discontinuity,
            range: mark.range.start..mark.range.start,
            start: mark.at,
            duration: Span::ZERO,
            preamble: start.preamble,
            parts: Vec::new(),
            events: Vec::new(),
            title: None,
            titles: Vec::new(),
            is_whole: start.is_whole,
            is_gap: false,
            is_complete: false,
        }
    }

    /// Creates a gap: a number after this segment without media, and its time.
    pub(super) fn gap_after(
        &self,
        number: u64,
        (start, end): (Timestamp, Timestamp),
        offset: u64,
    ) -> Self {
        Self {
            number,
            range: offset..offset,
            start,
            duration: end - start,
            parts: Vec::new(),
            events: Vec::new(),
            titles: Vec::new(),
            is_whole: true,
            is_gap: true,
            is_complete: true,
            ..self.clone()
        }
    }

    pub(super) fn grow(&mut self, mark: &Mark) {
        self.range.end = mark.range.end;
        self.duration = self.duration.max(mark.end() - self.start);
        if self.parts.len() < PARTS_MAX {
            self.parts.push(ListedPart {
                range: mark.range.clone(),
                start: mark.at,
                duration: mark.part.duration,
                is_independent: mark.part.is_independent,
            });
        }
    }
}
