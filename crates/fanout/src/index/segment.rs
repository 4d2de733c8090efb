//! Segments and their parts.

use std::ops::Range;
use std::sync::Arc;

use log::Preamble;
use media::{Span, TimedEvent, Timestamp};

use super::TitleChange;

/// Parts of one segment that are listed: ten times as many as segments usually have. Parts beyond them are
/// in their segment's range, and are not listed by themselves.
const PARTS_MAX: usize = 128;

/// The bounds of parts and segments; they hold for as long as the lane is open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Segmentation {
    /// The longest duration of a part.
    pub part_max: Span,
    /// The distance of segments: each begins at the first keyframe of its slot of the stream's time.
    pub segment: Span,
}

impl Segmentation {
    /// Half a second and three. A part that ends before the sample that would be too much is longer than
    /// 85 % of that from 14 pictures a second on (RFC 8216bis §4.4.4.9), and a segment has a keyframe at its
    /// beginning if there is one every three seconds.
    pub const DEFAULT: Self = Self {
        part_max: Span::from_millis(500),
        segment: Span::from_millis(3_000),
    };

    /// The longest duration of a segment, unless the last sample of its epoch lasts longer: the slot it begins in, and
    /// the next.
    pub fn segment_max(&self) -> Span {
        self.segment + self.segment
    }
}

/// What a packager states about a part.
#[derive(Clone, Debug)]
pub struct Part {
    /// How long it lasts.
    pub duration: Span,
    /// Something in it can be decoded without what lies before it.
    pub is_independent: bool,
    /// It begins a segment.
    pub starts: Option<SegmentStart>,
}

/// What a packager states about a segment.
#[derive(Clone, Debug)]
pub struct SegmentStart {
    /// Its number, larger than that of the segment before.
    pub number: u64,
    /// Any node has it, with the same number and beginning. Not so if the lane was opened in the middle of it.
    pub is_whole: bool,
    /// It does not continue the segment before, although it is of the same epoch.
    pub is_discontinuous: bool,
    /// What a reader needs before it.
    pub preamble: Arc<Preamble>,
}

/// A part of a log that was marked.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) range: Range<u64>,
    pub(crate) at: Timestamp,
    pub(crate) epoch: u32,
    pub(crate) part: Part,
    /// Its segment ends with it.
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
    /// The media sequence number.
    pub number: u64,
    /// The epoch it is of; the stream's first one is 1.
    pub epoch: u32,
    /// How many discontinuities lie before its first byte: epochs, and changes of the headers within
    /// one. Where it differs from that of the segment before, there is one between the two. Nodes agree
    /// on it but for changes within an epoch that one of them has not seen.
    pub discontinuity: u64,
    /// Where in the log it is.
    pub range: Range<u64>,
    /// When it begins, on the stream's timeline.
    pub start: Timestamp,
    /// How long it lasts.
    pub duration: Span,
    /// What a reader needs before it: the initialization segment.
    pub preamble: Arc<Preamble>,
    /// Its parts, in order; none in a gap.
    pub parts: Vec<ListedPart>,
    /// The events since the segment before began, and those of its first moment.
    pub events: Vec<Arc<TimedEvent>>,
    /// The title in force at its beginning: the last of `titles`, if there are any.
    pub title: Option<Arc<TitleChange>>,
    /// The titles since the segment before began, and those of its first moment.
    pub titles: Vec<Arc<TitleChange>>,
    /// Any node has it, with the same number and beginning. Not so if the lane was opened in the middle of it:
    /// another node may have more of it, so it must not be cached for others.
    pub is_whole: bool,
    /// There was no media in its time.
    pub is_gap: bool,
    /// It no longer grows.
    pub is_complete: bool,
}

/// A part of a segment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListedPart {
    /// Where in the log it is.
    pub range: Range<u64>,
    /// When it begins, on the stream's timeline.
    pub start: Timestamp,
    /// How long it lasts.
    pub duration: Span,
    /// Something in it can be decoded without what lies before it.
    pub is_independent: bool,
}

impl Segment {
    /// When it ends, as far as it has come.
    pub fn end(&self) -> Timestamp {
        self.start + self.duration
    }

    /// A segment that begins with the marked part, and is still empty.
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

    /// A number behind this segment for which there is no media, and its time.
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
