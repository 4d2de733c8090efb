//! The index of a lane made of segments and parts: what a playlist lists, and where in the log it is.
//!
//! ```text
//!  segment 41            segment 42                 segment 43
//!  ┌──────┬──────┬─────┐ ┌──────┬──────┬──────┬───┐ ┌──────┬ ─ ─
//!  │ 0  I │ 1    │ 2   │ │ 0  I │ 1    │ 2  I │ 3 │ │ 0  I │ 1
//!  └──────┴──────┴─────┘ └──────┴──────┴──────┴───┘ └──────┴ ─ ─
//! ```
//!
//! * A part is a unit of the log, a segment a run of parts. The packager marks them
//!   ([`Sink::end_part`](crate::Sink::end_part)); what it does not mark belongs to no segment.
//! * Numbers are the packager's, which derives them from the stream's times and epochs, so that any node has
//!   the same. They are listed without a hole: a number that is skipped is a gap.
//! * What is listed can be read: a segment goes when the log drops the first byte of it.
//! * Events and titles are listed with the first segment that begins at their time or later, and until that has begun
//!   behind all segments. Each segment knows the title in force at its beginning, for those that list it first.
//!
//! The stream's writer adds to it behind each commit, and readers of ranges look at it; both under its
//! lock. Workers never do.

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

/// Upper bound on events that wait for their segment; the oldest go first. A source has a few a minute.
const EVENTS_WAITING_MAX: usize = 64;

/// The segments of a lane at one moment.
#[derive(Clone, Debug, Default)]
pub struct LaneIndex {
    /// The bounds of parts and segments; `None` for a lane that has no segments.
    pub segmentation: Option<Segmentation>,
    /// Oldest first, with consecutive numbers. The last one may still grow, unless it is complete.
    pub segments: Vec<Arc<Segment>>,
    /// The events since the last segment began, oldest first.
    pub waiting: Vec<Arc<TimedEvent>>,
    /// The same of titles.
    pub waiting_titles: Vec<Arc<TitleChange>>,
    /// Nothing follows.
    pub is_ended: bool,
}

impl LaneIndex {
    /// Whether there are that many segments with media that no longer grow.
    pub fn has_complete(&self, count: usize) -> bool {
        let is_complete = |segment: &&Arc<Segment>| segment.is_complete && !segment.is_gap;
        self.segments.iter().filter(is_complete).take(count).count() == count
    }
}

/// The state that writer and readers of a lane's index share.
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

    /// Takes what was marked, all of which is committed, and drops what begins before `start`.
    // Most lanes have no index: their commits are not to pay for this one's frame.
    #[inline(never)]
    pub(crate) fn add(&self, marks: &mut Vec<Mark>, start: u64) {
        let mut segments = self.segments.lock();
        let longest = self.segmentation.segment_max();
        marks.drain(..).for_each(|mark| segments.add(mark, longest));
        segments.forget_before(start);
    }

    /// Takes an event, which is to be listed with the segment that begins at its time or later.
    pub(crate) fn note(&self, event: Arc<TimedEvent>) {
        let mut segments = self.segments.lock();
        if segments.waiting.len() >= EVENTS_WAITING_MAX {
            segments.waiting.remove(0);
        }
        segments.waiting.push(event);
    }

    /// Takes a title, which is to be listed like an event.
    pub(crate) fn note_title(&self, change: Arc<TitleChange>) {
        self.segments.lock().titles.note(change);
    }

    /// What is listed of a log that has nothing before `start`.
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

    /// Where a part is in a log that has nothing before `start`; `None` if it may still come.
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
    /// What follows goes on from here, even if all segments have been dropped.
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
    /// When its parts end.
    end: Timestamp,
    /// Where they end in the log.
    end_offset: u64,
}

impl Segments {
    /// Takes a part of a lane whose segments are no longer than `longest`.
    fn add(&mut self, mut mark: Mark, longest: Span) {
        if let Some(start) = mark.part.starts.take() {
            self.begin(&mark, start, longest);
        }
        // Without a segment that it belongs to it is not listed: a packager begins with one, and the log
        // may drop the beginning of one that is open.
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
        // A pause may take more than its numbers can; behind them times do not continue.
        let most = i128::from(longest.ticks()) * i128::from(count);
        let pause = i128::from((until - last.end).ticks().max(0)).min(most);
        let begin = |gap: u64| {
            let ticks = pause * i128::from(gap) / i128::from(count);
            last.end + Span::from_ticks(ticks as i64)
        };
        // Between listed segments; before the first one there is no hole.
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

    /// Drops what begins before `start`, and what exceeds the bound.
    fn forget_before(&mut self, start: u64) {
        while let Some(oldest) = self.list.front()
            && (oldest.range.start < start || oldest.is_gap || self.list.len() > SEGMENTS_MAX)
        {
            self.list.pop_front();
        }
    }
}
