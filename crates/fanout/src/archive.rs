//! The asynchronous, lossless reader of a lane: for recording, and for other readers that may be late but must be
//! complete.
//!
//! ```text
//!            reader                    start                committed
//!              ▼                         ▼                      ▼
//!  ┄┄┄ gone ┄┄┄┌──── held for it ────────┌──── the log ─────────┐
//!              └─ bytes_max at the most ─┘
//! ```
//!
//! A slow reader delays no other: pages that the log drops are held for the reader, up to its own bound. Beyond that
//! bound the oldest pages are dropped, and the loss is reported once, with its exact range. The reader then continues
//! at the next join point; it is never disconnected. Pages are held even if the reader is not polled.

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

/// Upper bound on the bytes of pages that the log would drop and that are held for one reader: half a minute of 16
/// Mb/s. They are charged to the lane, within `fanout.log_mib`; when memory is short they are dropped first.
pub const ARCHIVE_BYTES_MAX: usize = 64 << 20;

/// Upper bound on the bytes returned at once, unless a single unit is larger: below the size of a file write that a
/// killed process does not tear apart (2 MiB on ext4).
const RUN_BYTES_MAX: u64 = 1 << 20;

/// Result of one read of an [`ArchiveReader`], in lane order.
#[derive(Clone, Debug)]
pub enum Archived {
    /// Number of the stream's epoch that all following media belong to; the first is 1.
    Epoch(u32),
    /// Headers of the following media: given at the beginning, when they change, and after a loss.
    Preamble {
        /// Everything that precedes the media.
        bytes: Bytes,
        /// Number that changes with the headers.
        generation: u32,
    },
    /// Media: consecutive whole units of one epoch and one generation.
    Media {
        /// The units; never empty.
        units: Vec<LaneUnit>,
        /// The bytes of these units, in pieces that share the log's pages.
        bytes: Vec<Bytes>,
    },
    /// A loss of media. The next media begins at a join point.
    Lost(Lost),
}

/// Media that an [`ArchiveReader`] has lost.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lost {
    /// Media time of the first lost unit.
    pub from: Timestamp,
    /// Media time of the first unit after the loss, or of the last lost one if nothing follows.
    pub to: Timestamp,
    /// Range of the lost bytes in the log.
    pub range: Range<u64>,
}

/// Lossless reader of one lane, from [`Stream::archive`](crate::Stream::archive); call [`next`](Self::next) until it
/// returns `None`. It keeps its lane open and does not count as a listener.
#[derive(Debug)]
pub struct ArchiveReader {
    guard: LaneGuard,
    /// Slot of this reader among the tasks that wait for the lane.
    slot: Arc<TaskSlot>,
    hold: Hold,
    /// Whether reading has begun, at a join point.
    has_begun: bool,
    /// Epoch of the headers reported last; `None`, as for `generation`, if they are to be reported again.
    epoch: Option<u32>,
    generation: Option<u32>,
    /// Media time of the last unit returned.
    reached: Timestamp,
}

impl ArchiveReader {
    pub(crate) fn new(guard: LaneGuard, bytes_max: usize) -> Self {
        let lane = guard.lane();
        let slot = lane.readers.enter();
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

    /// Returns the lane's format.
    pub fn format(&self) -> Format {
        self.guard.format()
    }

    /// Waits for and returns the next item; `None` at the end of the lane.
    pub async fn next(&mut self) -> Option<Archived> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Archived>> {
        loop {
            match self.at_hand() {
                Ok(next) => return Poll::Ready(next),
                Err(AtEnd { end }) => {
                    let lane = self.guard.lane();
                    lane.readers.arm(&self.slot, cx.waker());
                    if lane.log.committed() == end && !lane.ended() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// Returns the result of [`next`](Self::next) without waiting.
    ///
    /// # Errors
    /// Returns [`AtEnd`] if [`next`](Self::next) would wait.
    pub fn at_hand(&mut self) -> Result<Option<Archived>, AtEnd> {
        loop {
            // Read before stepping: when a lane ends, all its bytes have been committed.
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

    /// Begins at the first join point; anything before it is of no use.
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

    /// Continues at the first join point of the remaining log, or at its end.
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

    /// Returns the run of units from `first` on that share an epoch and a generation.
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
            // These pages were dropped just now.
            return Step::Again;
        };
        self.reached = last.at;
        let next = view.unit_from(end).map_or(last.at, |next| next.at);
        self.hold.advance(end, next);
        Step::Give(Archived::Media { units, bytes })
    }
}

/// Returns the first unit from `offset` on that a listener may start at.
fn first_join(view: &View, offset: u64) -> Option<&Unit> {
    let is_join = |unit: &&Unit| matches!(unit.entry, Entry::Join(_));
    view.units_from(offset).find(is_join)
}

impl Drop for ArchiveReader {
    fn drop(&mut self) {
        self.guard.lane().readers.leave(&self.slot);
    }
}

/// The state of an [`ArchiveReader`] that has returned everything written so far.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AtEnd {
    /// Log offset at which the written bytes end.
    pub end: u64,
}

enum Step {
    Give(Archived),
    Again,
    /// Nothing more to read; carries the offset of the end.
    Wait(u64),
}
