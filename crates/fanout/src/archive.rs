//! The asynchronous, lossless way to follow a lane: for recording, and for other readers that may be late but
//! must be complete.
//!
//! ```text
//!            reader                    start                committed
//!              ▼                         ▼                      ▼
//!  ┄┄┄ gone ┄┄┄┌──── held for it ────────┌──── the log ─────────┐
//!              └─ bytes_max at the most ─┘
//! ```
//!
//! A slow reader delays no other: what the log drops is held for it, up to its own bound. Beyond that the
//! oldest pages go, and the loss is reported once and exactly. It goes on at the next join point and is never
//! dropped. It need not be polled for pages to be held.

use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use log::{Behind, Entry, Hold, Unit, View};
use media::Timestamp;

use crate::follower::LaneUnit;
use crate::format::Format;
use crate::lane::LaneGuard;
use crate::task_bells::TaskSlot;

/// Upper bound on the bytes of pages that the log would drop and that are held for one reader: half a minute of
/// 16 Mb/s. They are counted to the lane, within `fanout.log_mib`; when memory is short they go first.
pub const ARCHIVE_BYTES_MAX: usize = 64 << 20;

/// Bytes handed out at once, but for a unit that is larger: what one write of a file takes that a killed
/// process does not tear apart (2 MiB on ext4).
const RUN_BYTES_MAX: u64 = 1 << 20;

/// What an [`ArchiveReader`] finds, in order.
#[derive(Clone, Debug)]
pub enum Archived {
    /// What follows is of this epoch of the stream; the first is 1.
    Epoch(u32),
    /// What follows is read with these headers: said at the beginning, when they change, and after a loss.
    Preamble {
        /// All that precedes the media.
        bytes: Bytes,
        /// Changes with the headers.
        generation: u32,
    },
    /// Media: whole units of one epoch and one generation, behind one another.
    Media {
        /// What is in it; never nothing.
        units: Vec<LaneUnit>,
        /// Its bytes, in pieces that share the log's pages.
        bytes: Vec<Bytes>,
    },
    /// The media in between is lost. The next media is that of a join point.
    Lost(Lost),
}

/// What an [`ArchiveReader`] has lost.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lost {
    /// The media time of the first unit that is lost.
    pub from: Timestamp,
    /// That of the first unit that is not, or of the last one if nothing follows.
    pub to: Timestamp,
    /// Where in the log it was.
    pub range: Range<u64>,
}

/// See the module's description. It keeps its lane open and is no listener; got from
/// [`Stream::archive`](crate::Stream::archive).
#[derive(Debug)]
pub struct ArchiveReader {
    guard: LaneGuard,
    /// Its slot among the tasks that wait for the lane.
    slot: Arc<TaskSlot>,
    hold: Hold,
    /// It is at a join point, or behind one.
    has_begun: bool,
    /// The headers reported last; `None` if they are to be reported again.
    epoch: Option<u32>,
    generation: Option<u32>,
    /// The time of the last unit given.
    reached: Timestamp,
}

impl ArchiveReader {
    pub(crate) fn new(guard: LaneGuard, bytes_max: usize) -> Self {
        let lane = guard.lane();
        let slot = lane.readers().enter();
        let view = View::new(lane.log.clone());
        let begin = view
            .newest_join()
            .map_or_else(|| view.end(), |join| join.offset);
        let hold = Hold::new(&lane.log, begin, bytes_max.min(ARCHIVE_BYTES_MAX));
        Self {
            guard,
            slot,
            hold,
            has_begun: false,
            epoch: None,
            generation: None,
            reached: Timestamp::ZERO,
        }
    }

    /// What the lane carries.
    pub fn format(&self) -> Format {
        self.guard.format()
    }

    /// What comes next; `None` at the end of the lane.
    pub async fn next(&mut self) -> Option<Archived> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// See [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Archived>> {
        loop {
            match self.at_hand() {
                Ok(next) => return Poll::Ready(next),
                Err(AtEnd { end }) => {
                    let lane = self.guard.lane();
                    lane.readers().arm(&self.slot, cx.waker());
                    if lane.log.committed() == end && !lane.ended() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// What [`next`](Self::next) gives without waiting.
    ///
    /// # Errors
    /// When it would wait.
    pub fn at_hand(&mut self) -> Result<Option<Archived>, AtEnd> {
        loop {
            // Read first: all there is has been committed when a lane ends.
            let is_over = self.guard.lane().ended();
            match self.step(is_over) {
                Step::Give(archived) => return Ok(Some(archived)),
                Step::Again => {}
                Step::Wait(_) if is_over => return Ok(None),
                Step::Wait(end) => return Err(AtEnd { end }),
            }
        }
    }

    fn step(&mut self, is_over: bool) -> Step {
        let behind = self.hold.look();
        if behind.at < behind.view.start() {
            return self.skip(&behind, is_over);
        }
        if !self.has_begun {
            return self.begin(&behind);
        }
        let Some(first) = behind.view.unit_from(behind.at) else {
            return Step::Wait(behind.view.end());
        };
        if self.epoch.replace(first.epoch) != Some(first.epoch) {
            return Step::Give(Archived::Epoch(first.epoch));
        }
        if self.generation.replace(first.generation) != Some(first.generation)
            && let Entry::Join(preamble) = &first.entry
        {
            return Step::Give(Archived::Preamble {
                bytes: preamble.opening(&behind.view, first.offset),
                generation: first.generation,
            });
        }
        self.run(&behind.view, first)
    }

    /// Begins at the first join point; what comes before it is of no use.
    fn begin(&mut self, behind: &Behind) -> Step {
        let view = &behind.view;
        match first_join(view, behind.at) {
            Some(join) => {
                self.has_begun = true;
                self.hold.advance(join.offset, join.at);
                Step::Again
            }
            None => {
                self.hold.advance(view.end(), self.reached);
                Step::Wait(view.end())
            }
        }
    }

    /// Goes on at the first join point of what is left, or at the end.
    fn skip(&mut self, behind: &Behind, is_over: bool) -> Step {
        let Behind { at, lost, view } = behind;
        let (offset, to) = match (first_join(view, view.start()), view.newest()) {
            (Some(join), _) => (join.offset, join.at),
            (None, Some(newest)) if is_over => (view.end(), newest.at),
            (None, _) => return Step::Wait(view.end()),
        };
        self.hold.advance(offset, to);
        self.has_begun = true;
        self.generation = None;
        Step::Give(Archived::Lost(Lost {
            from: lost.unwrap_or(self.reached),
            to,
            range: *at..offset,
        }))
    }

    /// The units from `first` on that belong together.
    fn run(&mut self, view: &View, first: &Unit) -> Step {
        let belongs =
            |unit: &&Unit| unit.epoch == first.epoch && unit.generation == first.generation;
        let mut following = view.units_from(first.offset).peekable();
        let mut units: Vec<LaneUnit> = Vec::new();
        while let Some(unit) = following.next_if(belongs) {
            let end = following
                .peek()
                .map_or_else(|| view.end(), |next| next.offset);
            if !units.is_empty() && end - first.offset > RUN_BYTES_MAX {
                break;
            }
            units.push(LaneUnit::new(unit, end));
        }
        let Some(last) = units.last() else {
            return Step::Wait(view.end());
        };
        let end = last.range.end;
        let Some(bytes) = self.guard.lane().log.rope(first.offset..end) else {
            // Given up just now.
            return Step::Again;
        };
        self.reached = last.at;
        let next = view.unit_from(end).map_or(last.at, |next| next.at);
        self.hold.advance(end, next);
        Step::Give(Archived::Media { units, bytes })
    }
}

/// The first unit from `offset` on that a listener may start at.
fn first_join(view: &View, offset: u64) -> Option<&Unit> {
    let is_join = |unit: &&Unit| matches!(unit.entry, Entry::Join(_));
    view.units_from(offset).find(is_join)
}

impl Drop for ArchiveReader {
    fn drop(&mut self) {
        self.guard.lane().readers().leave(&self.slot);
    }
}

/// An [`ArchiveReader`] has given all there is by now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AtEnd {
    /// Where that ends in the log.
    pub end: u64,
}

enum Step {
    Give(Archived),
    Again,
    /// There is nothing more, up to there.
    Wait(u64),
}
