//! Positions of readers, and the verdict on one that falls behind.
//!
//! Pure functions over a [`View`], shared by the workers' listeners and by [`LogReader`](crate::LogReader).

use std::ops::ControlFlow::{Break, Continue};

use bytes::Bytes;
use log::{Entry, Preamble, Unit, View};
use media::{Span, Timestamp};

use crate::policy::{BURST_MARGIN, BURST_SPAN_MAX, Policy};

base::labels! {
    /// Reasons for the end of a listener's connection.
    pub enum Reason {
        /// The listener hung up.
        Left = "left",
        /// The listener fell further behind than `drop_after`.
        Lag = "lag",
        /// The listener's position was in the middle of a unit that the log no longer holds.
        Overrun = "overrun",
        /// The stream ended.
        Ended = "ended",
        /// An operator removed the listener.
        Kicked = "kicked",
        /// The server is shutting down, or a worker could not take the socket.
        Shutdown = "shutdown",
    }
}

/// Position at which a reader starts or resumes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Start {
    pub(crate) offset: u64,
    /// Bytes to send before the log's.
    pub(crate) preamble: Bytes,
}

/// Verdict on a reader that is behind.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// Continue to send.
    Keep,
    /// Send up to this offset only; the reader may leave the log's order there.
    Finish(u64),
    /// Continue from a newer join point.
    Skip(Start),
    /// Drop the reader.
    Drop(Reason),
}

/// Amount of the past that a new listener is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    /// Least media time of the burst.
    time: Span,
    /// Least number of bytes, as far as they are no older than [`BURST_SPAN_MAX`].
    bytes: u64,
    /// Number of bytes that always contain a place to begin with at least `bytes`.
    bytes_reach: u64,
}

impl From<Span> for Burst {
    fn from(time: Span) -> Self {
        Self {
            time,
            bytes: 0,
            bytes_reach: 0,
        }
    }
}

impl Burst {
    fn of(policy: &Policy) -> Self {
        Self {
            time: policy.burst,
            bytes: policy.burst_bytes.into(),
            bytes_reach: policy.burst_bytes_reach() as u64,
        }
    }

    /// Returns the latest point at which the burst begins, in a log that ends with `newest`.
    fn bounds(self, view: &View, newest: Timestamp) -> BurstBounds {
        BurstBounds {
            at: newest - self.time,
            offset: view.end().saturating_sub(self.bytes),
            oldest: newest - BURST_SPAN_MAX,
        }
    }

    /// Returns the lag of a listener that has been given that many bytes and is slow to take them.
    fn lag(self, view: &View) -> Span {
        if self.bytes == 0 {
            return Span::ZERO;
        }
        let begins = view.end().saturating_sub(self.bytes_reach);
        let begins = begins.max(view.start());
        let lag = lag(view, begins).unwrap_or(Span::ZERO);
        lag.min(BURST_SPAN_MAX) + BURST_MARGIN
    }
}

/// Latest beginning of a burst; compared with hundreds of join points for each new listener.
#[derive(Clone, Copy, Debug)]
struct BurstBounds {
    at: Timestamp,
    /// Latest offset, unless the media there is as old as `oldest`; the first byte of a log that is shorter.
    offset: u64,
    oldest: Timestamp,
}

impl BurstBounds {
    /// Whether a burst that begins at `at` and `offset` is large enough.
    #[inline]
    fn are_met(&self, at: Timestamp, offset: u64) -> bool {
        at <= self.at && (offset <= self.offset || at <= self.oldest)
    }
}

/// Returns the start of a new listener: the newest join point that gives it `burst`, or else the oldest join point. The
/// start is never older than `reach`. If media time has a gap, a join point before the gap is used only if it is no
/// older than `behind`, the lag at which a listener counts as behind. A listener that has had everything up to `after`
/// starts later than that, and nobody starts before a [change of the audio](View::joins_from).
pub(crate) fn start(
    view: &View,
    burst: impl Into<Burst>,
    behind: Span,
    reach: Span,
    after: Option<Timestamp>,
) -> Option<Start> {
    let burst = burst.into();
    let newest = view.newest()?.at;
    let from = view.joins_from();
    let behind = behind.max(burst.lag(view));
    let bounds = burst.bounds(view, newest);
    let (reached, recent) = (newest - reach, newest - behind);
    // Folded, for there may be hundreds: a loop would take each through all layers of the iterator.
    let best = view.joins_back().try_fold(None, |best, join| {
        let (unit, preamble) = join;
        let is_before = unit.offset < from || after.is_some_and(|after| unit.at <= after);
        if unit.at < reached || is_before {
            return Break(best);
        }
        match begins(view, unit, preamble, from) {
            None => Continue(best),
            Some((at, offset)) if !bounds.are_met(at, offset) => Continue(Some(join)),
            Some(_) if unit.at >= recent => Break(Some(join)),
            Some(_) => Break(best.or(Some(join))),
        }
    });
    let (Continue(best) | Break(best)) = best;
    best.map(|(unit, preamble)| Start {
        offset: unit.offset,
        preamble: match is_led_from(unit, preamble, from) {
            true => preamble.opening(view, unit.offset),
            // The lead describes audio that is obsolete, too.
            false => Bytes::new(),
        },
    })
}

/// Returns the start of a new listener under the lane's rules; see [`start`].
pub(crate) fn first(
    view: &View,
    policy: &Policy,
    reach: Span,
    after: Option<Timestamp>,
) -> Option<Start> {
    start(view, Burst::of(policy), policy.skip_after, reach, after)
}

/// Returns the time and offset at which the data for a joiner at `unit` begins; `None` if the log no longer has all of
/// it.
#[inline]
fn begins(view: &View, unit: &Unit, preamble: &Preamble, from: u64) -> Option<(Timestamp, u64)> {
    let Some(lead) = &preamble.lead else {
        return Some((unit.at, unit.offset));
    };
    let offset = lead.from(unit.offset)?;
    if offset < from {
        return Some((unit.at, unit.offset));
    }
    Some((view.unit_containing(offset)?.at, offset))
}

/// Whether the lead of a join point, if it has one, has nothing from before `from`.
fn is_led_from(unit: &Unit, preamble: &Preamble, from: u64) -> bool {
    let lead = preamble.lead.as_ref();
    lead.and_then(|lead| lead.from(unit.offset))
        .is_none_or(|begins| begins >= from)
}

/// Returns the lag of a reader at `offset` behind the newest unit; `None` when the log no longer has that offset.
pub(crate) fn lag(view: &View, offset: u64) -> Option<Span> {
    if offset >= view.end() {
        return Some(Span::ZERO);
    }
    let unit = view.unit_containing(offset)?;
    Some(view.newest()?.at - unit.at)
}

/// Number of units examined to measure the time between samples.
const INTERVAL_UNITS: usize = 16;

/// Returns the media time between two samples, as of the newest; zero when unknown.
pub(crate) fn sample_interval(view: &View) -> Span {
    let mut units = view.units_back();
    let Some(newest) = units.next() else {
        return Span::ZERO;
    };
    let Some(older) = units.take(INTERVAL_UNITS).last() else {
        return Span::ZERO;
    };
    let count = (newest.ordinal - older.ordinal) as i64;
    Span::from_ticks((newest.at - older.at).ticks() / count.max(1))
}

/// Returns the verdict on a reader at `offset`, below the view's end.
pub(crate) fn judge(view: &View, offset: u64, policy: &Policy) -> Verdict {
    let (Some(lag), Some(unit)) = (lag(view, offset), view.unit_containing(offset)) else {
        return Verdict::Drop(lost(view, policy));
    };
    if lag <= policy.skip_after {
        return Verdict::Keep;
    }
    let burst = Burst::of(policy).lag(view);
    if lag <= burst {
        return Verdict::Keep;
    }
    // A group of pictures longer than the limits is no fault of the reader: there is no newer join point.
    let Some(join) = view.newest_join().filter(|join| join.offset > offset) else {
        return Verdict::Keep;
    };
    let Entry::Join(preamble) = &join.entry else {
        return Verdict::Keep;
    };
    let until_dropped = policy.drop_after.ticks() - policy.skip_after.ticks();
    if lag > policy.skip_after.max(burst) + Span::from_ticks(until_dropped) {
        return Verdict::Drop(Reason::Lag);
    }
    let Some(exit) = exit(view, offset).filter(|exit| *exit < join.offset) else {
        return Verdict::Keep;
    };
    if exit > offset {
        return Verdict::Finish(exit);
    }
    Verdict::Skip(Start {
        offset: join.offset,
        preamble: resumption(view, unit, join, preamble),
    })
}

/// Returns the reason for which a reader's position is no longer in the log: it was too slow, or memory is short.
pub(crate) fn lost(view: &View, policy: &Policy) -> Reason {
    let kept = match (view.newest(), view.unit_from(view.start())) {
        (Some(newest), Some(oldest)) => newest.at - oldest.at,
        _ => Span::ZERO,
    };
    if kept >= policy.drop_after {
        Reason::Lag
    } else {
        Reason::Overrun
    }
}

/// Returns the first position at or after `offset` at which a reader may leave the log's order.
fn exit(view: &View, offset: u64) -> Option<u64> {
    view.units_from(offset)
        .find(|unit| !matches!(unit.entry, Entry::Sealed))
        .map(|unit| unit.offset)
}

/// Returns the bytes that a reader leaving just before `left` needs in order to continue at `join`.
///
/// A unit belongs to the generation it was written in, and the reader has everything before `left`; when `left` itself
/// begins a new generation this repeats headers, which is harmless.
fn resumption(view: &View, left: &Unit, join: &Unit, preamble: &Preamble) -> Bytes {
    if left.generation == join.generation {
        return Bytes::new();
    }
    let bytes = preamble.opening(view, join.offset);
    bytes.slice(preamble.resume_from.min(bytes.len())..)
}
