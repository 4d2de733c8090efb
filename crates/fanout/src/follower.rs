//! Synchronous follower of a lane, for a thread that serves many listeners of it by itself.
//!
//! A [`Follower`] is one thread's view of the log: it is not counted as a listener
//! ([`ListenerHandle`](crate::ListenerHandle)s are) and has no position of its own, for each listener has one.
//! After a round it *arms* its bell and sleeps; the writer wakes it once.

use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use log::{Entry, Unit, View};
use media::{Span, Timestamp};

use crate::cursor::{Reason, Verdict, judge, start};
use crate::lane::{Lane, LaneGuard};
use crate::policy::Policy;
use crate::readers_window::Declared;
use crate::task_bells::TaskSlot;

/// One thread's view of a lane's log, for all of its listeners; call [`refresh`](Self::refresh) before each round, and
/// [`arm`](Self::arm) after it.
#[derive(Debug)]
pub struct Follower {
    pub(crate) lane: Arc<Lane>,
    pub(crate) view: View,
    /// Its slot among the tasks that wait for the lane.
    slot: Arc<TaskSlot>,
    declared: Option<Declared>,
}

/// A unit of the log: the smallest run of bytes that makes sense alone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LaneUnit {
    /// Range of its bytes in the log.
    pub range: Range<u64>,
    /// Its media time.
    pub at: Timestamp,
    /// Arrival time of the sample it came from.
    pub arrived: Instant,
    /// Whether a listener may start here.
    pub is_join: bool,
}

impl LaneUnit {
    /// Creates a reader's description of `unit`, which ends at `end`.
    pub(crate) fn new(unit: &Unit, end: u64) -> Self {
        Self {
            range: unit.offset..end,
            at: unit.at,
            arrived: unit.arrived,
            is_join: matches!(unit.entry, Entry::Join(_)),
        }
    }
}

/// Verdict on a listener that is behind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Judgement {
    /// Continue to send.
    Keep,
    /// Move it to the newest join point.
    Skip,
    /// Drop it.
    Drop(Reason),
}

impl Follower {
    /// Creates a follower of the guard's lane, independent of the guard's life.
    pub fn new(guard: &LaneGuard) -> Self {
        let lane = Arc::clone(guard.lane());
        let view = View::new(Arc::clone(&lane.log));
        let slot = lane.readers.enter();
        Self {
            lane,
            view,
            slot,
            declared: None,
        }
    }

    /// Loads everything written so far, and releases everything that the log has dropped.
    pub fn refresh(&mut self) {
        self.view.refresh();
    }

    /// Arms one wake-up for the next news. Returns `false` when there are news since the last
    /// [`refresh`](Self::refresh), or the lane has ended: the caller must look again before it sleeps.
    pub fn arm(&self, waker: &Waker) -> bool {
        self.lane.readers.arm(&self.slot, waker);
        !(self.view.is_stale() || self.lane.ended())
    }

    /// Whether the lane has ended and this view has all of it.
    pub fn has_ended(&self) -> bool {
        self.lane.ended() && !self.view.is_stale()
    }

    /// Declares that its listeners are visited once in `window`, and can take at most `most` in one piece: the lane's
    /// packager may combine as much ([`LaneSink::window`](crate::LaneSink::window)). Takes a lock if the declaration has
    /// changed, so it is not for visits.
    pub fn declare(&mut self, window: Duration, most: Duration) {
        let declared = Some(Declared { window, most });
        if self.declared != declared {
            self.lane.window.replace(self.declared, declared);
            self.declared = declared;
        }
    }

    /// Returns the lane's rules.
    pub fn policy(&self) -> &Policy {
        &self.lane.policy
    }

    /// Returns the first offset that can still be read.
    pub fn start(&self) -> u64 {
        self.view.start()
    }

    /// Returns the offset after the last byte that can be read.
    pub fn end(&self) -> u64 {
        self.view.end()
    }

    /// Returns the start of a new listener that is to be given the last `burst`: the newest join point that is that
    /// old, or else the oldest one; `None` while there is none.
    pub fn entry(&self, burst: Span) -> Option<u64> {
        let reach = self.lane.reach(Duration::MAX);
        start(&self.view, burst, self.lane.policy.skip_after, reach, None).map(|start| start.offset)
    }

    /// Returns the units from the first that begins at or after `offset`.
    pub fn units(&self, offset: u64) -> impl Iterator<Item = LaneUnit> {
        let mut units = self.view.units_from(offset).peekable();
        std::iter::from_fn(move || {
            let unit = units.next()?;
            let next = units.peek().map(|next| next.offset);
            let end = next.unwrap_or_else(|| self.view.end());
            Some(LaneUnit::new(unit, end))
        })
    }

    /// Returns the `len` bytes at `offset` in one piece: in place, or copied to `scratch` if a page ends among them.
    /// Returns an empty slice when the log does not have all of them, or `scratch` has no room.
    pub fn bytes<'a>(&'a self, offset: u64, len: usize, scratch: &'a mut [u8]) -> &'a [u8] {
        self.view.contiguous(offset, len, scratch)
    }

    /// Returns the verdict on a listener at the beginning of a unit at `offset`, by the lane's rules.
    pub fn judge(&self, offset: u64) -> Judgement {
        match judge(&self.view, offset, &self.lane.policy) {
            Verdict::Keep | Verdict::Finish(_) => Judgement::Keep,
            Verdict::Skip(_) => Judgement::Skip,
            Verdict::Drop(reason) => Judgement::Drop(reason),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.lane.window.replace(self.declared, None);
        self.lane.readers.leave(&self.slot);
    }
}
