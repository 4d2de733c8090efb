//! Index of a lane made of segments and parts: the playlist's entries, and their places in the log.
//!
//! ```text
//!  segment 41            segment 42                 segment 43
//!  ┌──────┬──────┬─────┐ ┌──────┬──────┬──────┬───┐ ┌──────┬ ─ ─
//!  │ 0  I │ 1    │ 2   │ │ 0  I │ 1    │ 2  I │ 3 │ │ 0  I │ 1
//!  └──────┴──────┴─────┘ └──────┴──────┴──────┴───┘ └──────┴ ─ ─
//! ```
//!
//! * A part is a unit of the log, a segment a run of parts. The packager marks them
//!   ([`LaneSink::end_part`](crate::LaneSink::end_part)); an unmarked unit belongs to no segment.
//! * The packager assigns the numbers. It derives them from the stream's times and epochs, so that any node has the
//!   same. They are listed without a hole: a skipped number is a gap.
//! * Everything listed can be read: a segment is removed when the log drops its first byte.
//! * Events and titles are listed with the first segment that begins at their time or later, and until it has begun
//!   after all segments. Each segment knows the title in force at its beginning, for clients that list it first.
//!
//! The stream's writer adds to the index after each commit, and readers of ranges look at it; both under its lock.
//! Workers never do.

mod place;
mod segment;
#[cfg(test)]
mod tests;
mod title;

use std::collections::VecDeque;
use std::sync::Arc;

use base::Lock;
use media::{Span, TimedEvent, Timestamp};

pub use place::PartState;
pub(crate) use segment::Mark;
pub use segment::{ListedPart, Part, Segment, SegmentStart, Segmentation};
pub use title::TitleChange;
use title::Titles;

/// Upper bound on listed segments: at three seconds each, an hour and 42 minutes. Each takes about half a
/// kilobyte.
const SEGMENTS_MAX: usize = 2_048;

/// Upper bound on events that wait for their segment; the oldest are dropped first. A source has a few a minute.
const EVENTS_WAITING_MAX: usize = 64;

/// Segments of a lane at one moment.
#[derive(Clone, Debug, Default)]
pub struct LaneIndex {
    /// Bounds of parts and segments; `None` for a lane that has no segments.
    pub segmentation: Option<Segmentation>,
    /// Segments, oldest first, with consecutive numbers. The last one may still grow, unless it is complete.
    pub segments: Vec<Arc<Segment>>,
    /// Events since the last segment began, oldest first.
    pub waiting: Vec<Arc<TimedEvent>>,
    /// Titles since the last segment began, oldest first.
    pub waiting_titles: Vec<Arc<TitleChange>>,
    /// Whether the lane has ended.
    pub is_ended: bool,
}

impl LaneIndex {
    /// Whether there are at least `count` complete segments with media.
    pub fn has_complete(&self, count: usize) -> bool {
        let is_complete = |segment: &&Arc<Segment>| segment.is_complete && !segment.is_gap;
        self.segments.iter().filter(is_complete).take(count).count() == count
    }
}

/// State that the writer and readers of a lane's index share.
#[derive(Debug)]
pub(crate) struct SharedIndex {
    segmentation: Segmentation,
    segments: Lock<Segments>,
}

impl SharedIndex {
    pub(crate) fn new(segmentation: Segmentation) -> Self {
        Self {
            segmentation,
            segments: Lock::default(),
        }
    }

    /// Adds the marked parts, all of which are committed, and drops segments that begin before `start`.
    // Not inlined: most lanes have no index, and their commits should not pay for this frame.
    #[inline(never)]
    pub(crate) fn add(&self, marks: &mut Vec<Mark>, start: u64) {
        let mut segments = self.segments.lock();
        let longest = self.segmentation.segment_max();
        marks.drain(..).for_each(|mark| segments.add(mark, longest));
        segments.forget_before(start);
    }

    /// Adds an event, to be listed with the segment that begins at its time or later.
    pub(crate) fn note(&self, event: Arc<TimedEvent>) {
        let mut segments = self.segments.lock();
        if segments.waiting.len() >= EVENTS_WAITING_MAX {
            segments.waiting.remove(0);
        }
        segments.waiting.push(event);
    }

    /// Adds a title, to be listed like an event.
    pub(crate) fn note_title(&self, change: Arc<TitleChange>) {
        self.segments.lock().titles.note(change);
    }

    /// Returns the index of a log that has nothing before `start`.
    pub(crate) fn list(&self, start: u64, is_ended: bool) -> LaneIndex {
        let mut segments = self.segments.lock();
        segments.forget_before(start);
        LaneIndex {
            segmentation: Some(self.segmentation),
            segments: segments.list.iter().cloned().collect(),
            waiting: segments.waiting.clone(),
            waiting_titles: segments.titles.waiting.clone(),
            is_ended,
        }
    }

    /// Returns the place of a part in a log that has nothing before `start`; `None` if it may still come.
    pub(crate) fn place(&self, start: u64, number: u64, part: usize) -> Option<PartState> {
        let mut segments = self.segments.lock();
        segments.forget_before(start);
        place::find(&segments.list, &self.segmentation, number, part)
    }
}

/// The segments of a lane, oldest first.
#[derive(Debug, Default)]
struct Segments {
    list: VecDeque<Arc<Segment>>,
    /// The newest segment, which the next one continues, even if all segments have been dropped.
    last: Option<Last>,
    /// Events since the last segment began.
    waiting: Vec<Arc<TimedEvent>>,
    titles: Titles,
}

/// The newest segment, as the next one sees it.
#[derive(Clone, Copy, Debug)]
struct Last {
    number: u64,
    epoch: u32,
    discontinuity: u64,
    /// Media time at which its parts end.
    end: Timestamp,
    /// Log offset at which they end.
    end_offset: u64,
}

impl Segments {
    /// Adds a part of a lane whose segments are no longer than `longest`.
    fn add(&mut self, mut mark: Mark, longest: Span) {
        if let Some(start) = mark.part.starts.take() {
            self.begin(&mark, start, longest);
        }
        // A part without a segment is not listed: a packager begins with a segment, and the log may drop the beginning
        // of an open one.
        if let Some(open) = self.list.back_mut() {
            let open = Arc::make_mut(open);
            open.grow(&mark);
            open.is_complete = mark.ends_segment;
        }
        if let Some(last) = &mut self.last {
            last.end = last.end.max(mark.end());
            last.end_offset = mark.range.end;
        }
    }

    fn begin(&mut self, mark: &Mark, start: SegmentStart, longest: Span) {
        if let Some(open) = self.list.back_mut() {
            Arc::make_mut(open).is_complete = true;
        }
        let (number, discontinuity) = match self.last {
            None => (start.number, mark.epoch.into()),
            Some(last) => {
                let epochs = mark.epoch.saturating_sub(last.epoch);
                let changes = u64::from(epochs.max(start.is_discontinuous.into()));
                let number = start.number.max(last.number + 1);
                self.pass_over(last, number, (mark.at, longest));
                (number, last.discontinuity + changes)
            }
        };
        let is_due = |event: &mut Arc<TimedEvent>| event.at <= mark.at;
        let (title, titles) = self.titles.begin(mark.at);
        let segment = Segment {
            title,
            titles,
            events: self.waiting.extract_if(.., is_due).collect(),
            ..Segment::begin(mark, start, number, discontinuity)
        };
        self.list.push_back(Arc::new(segment));
        self.last = Some(Last {
            number,
            epoch: mark.epoch,
            discontinuity,
            end: mark.at,
            end_offset: mark.range.start,
        });
    }

    /// Lists the numbers between `last` and `next`, which begins at `until`, as gaps of equal length.
    fn pass_over(&mut self, last: Last, next: u64, (until, longest): (Timestamp, Span)) {
        let count = next - last.number - 1;
        if count >= SEGMENTS_MAX as u64 {
            self.list.clear();
            return;
        }
        // A pause may be longer than its numbers can cover; after it, times are discontinuous.
        let most = i128::from(longest.ticks()) * i128::from(count);
        let pause = i128::from((until - last.end).ticks().max(0)).min(most);
        let begin = |gap: u64| {
            let ticks = pause * i128::from(gap) / i128::from(count);
            last.end + Span::from_ticks(ticks as i64)
        };
        // Gaps are listed between segments only, never before the first one.
        let Some(before) = self.list.back().map(Arc::clone) else {
            return;
        };
        for gap in 0..count {
            let times = (begin(gap), begin(gap + 1));
            let number = last.number + 1 + gap;
            let segment = before.gap_after(number, times, last.end_offset);
            self.list.push_back(Arc::new(segment));
        }
    }

    /// Drops segments that begin before `start`, and those that exceed the bound.
    fn forget_before(&mut self, start: u64) {
        while let Some(oldest) = self.list.front()
            && (oldest.range.start < start || oldest.is_gap || self.list.len() > SEGMENTS_MAX)
        {
            self.list.pop_front();
        }
    }
}
