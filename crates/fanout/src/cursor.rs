//! A reader's position, and what to do with one that falls behind.
//!
//! Pure functions over a [`View`], shared by the workers' listeners and by
//! [`LogReader`](crate::LogReader).

use std::ops::ControlFlow::{Break, Continue};

use bytes::Bytes;
use log::{Entry, Preamble, Unit, View};
use media::{Span, Timestamp};

use crate::policy::Policy;

/// Why a listener's connection ended.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Reason {
    /// The listener hung up.
    Left,
    /// It fell further behind than `drop_after`.
    Lag,
    /// Its position was in the middle of a unit that the log no longer holds.
    Overrun,
    /// The stream ended.
    Ended,
    /// An operator removed it.
    Kicked,
    /// The server is shutting down, or a worker could not take the socket.
    Shutdown,
}

impl Reason {
    /// Every reason, in the order of their indices.
    pub const ALL: [Self; 6] = [
        Self::Left,
        Self::Lag,
        Self::Overrun,
        Self::Ended,
        Self::Kicked,
        Self::Shutdown,
    ];

    /// The metric label and the word in the access log.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Lag => "lag",
            Self::Overrun => "overrun",
            Self::Ended => "ended",
            Self::Kicked => "kicked",
            Self::Shutdown => "shutdown",
        }
    }
}

/// A position to start or resume reading at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Start {
    pub(crate) offset: u64,
    /// What to send before the log's bytes.
    pub(crate) preamble: Bytes,
    pub(crate) generation: u32,
}

/// What to do with a reader that is behind.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// Send on.
    Keep,
    /// Send up to this offset only; there it may leave.
    Finish(u64),
    /// Go on from a newer join point.
    Skip(Start),
    /// Give it up.
    Drop(Reason),
}

/// Where a new listener starts: the newest join point that is at least `burst` old, or else the oldest there
/// is; none that is older than `reach`, and where media time has a gap none before it that is older than
/// `behind`, at which a listener counts as behind. A listener that has had everything up to `after` starts
/// later than that.
pub(crate) fn start(
    view: &View,
    burst: Span,
    behind: Span,
    reach: Span,
    after: Option<Timestamp>,
) -> Option<Start> {
    let newest = view.newest()?.at;
    // Folded, for there may be hundreds: a loop would take each through all layers of the iterator.
    let best = view.joins_back().try_fold(None, |best, join| {
        let (unit, preamble) = join;
        let age = newest - unit.at;
        if age > reach || after.is_some_and(|after| unit.at <= after) {
            return Break(best);
        }
        match begins(view, unit, preamble) {
            None => Continue(best),
            Some(begins) if newest - begins < burst => Continue(Some(join)),
            Some(_) if age <= behind => Break(Some(join)),
            Some(_) => Break(best.or(Some(join))),
        }
    });
    let (Continue(best) | Break(best)) = best;
    best.map(|(unit, preamble)| Start {
        offset: unit.offset,
        preamble: preamble.opening(view, unit.offset),
        generation: unit.generation,
    })
}

/// Where a new listener of a lane starts by its rules; see [`start`].
pub(crate) fn first(
    view: &View,
    policy: &Policy,
    reach: Span,
    after: Option<Timestamp>,
) -> Option<Start> {
    start(view, policy.burst, policy.skip_after, reach, after)
}

/// When the data that a joiner at `unit` is given begins; `None` if the log no longer has all of it.
fn begins(view: &View, unit: &Unit, preamble: &Preamble) -> Option<Timestamp> {
    match &preamble.lead {
        None => Some(unit.at),
        Some(lead) => Some(view.unit_containing(lead.from(unit.offset)?)?.at),
    }
}

/// How far behind the newest unit a reader at `offset` is. `None` when the log no longer knows.
pub(crate) fn lag(view: &View, offset: u64) -> Option<Span> {
    if offset >= view.end() {
        return Some(Span::ZERO);
    }
    let unit = view.unit_containing(offset)?;
    Some(view.newest()?.at - unit.at)
}

/// Units examined to measure the time between samples.
const INTERVAL_UNITS: usize = 16;

/// The media time between two samples, as of the newest; zero when unknown.
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

/// Judges a reader at `offset`, below the view's end.
pub(crate) fn judge(view: &View, offset: u64, policy: &Policy) -> Verdict {
    let (Some(lag), Some(unit)) = (lag(view, offset), view.unit_containing(offset)) else {
        return Verdict::Drop(lost(view, policy));
    };
    if lag <= policy.skip_after {
        return Verdict::Keep;
    }
    // A picture group longer than the limits is no fault of the reader: there is no newer join point.
    let Some(join) = view.newest_join().filter(|join| join.offset > offset) else {
        return Verdict::Keep;
    };
    let Entry::Join(preamble) = &join.entry else {
        return Verdict::Keep;
    };
    if lag > policy.drop_after {
        return Verdict::Drop(Reason::Lag);
    }
    let Some(exit) = exit(view, offset) else {
        return Verdict::Keep;
    };
    if exit >= join.offset {
        return Verdict::Keep;
    }
    if exit > offset {
        return Verdict::Finish(exit);
    }
    Verdict::Skip(Start {
        offset: join.offset,
        preamble: resumption(view, unit, join, preamble),
        generation: join.generation,
    })
}

/// Why a reader's position is no longer in the log: it was too slow, or memory is short.
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

/// The first position at or after `offset` where a reader may leave the log's order.
fn exit(view: &View, offset: u64) -> Option<u64> {
    view.units_from(offset)
        .find(|unit| !matches!(unit.entry, Entry::Sealed))
        .map(|unit| unit.offset)
}

/// What a reader leaving just before `left` needs in order to go on at `join`.
///
/// A unit belongs to the generation it was written in, and the reader has everything before
/// `left`; when `left` itself begins a new generation this repeats headers, which is harmless.
fn resumption(view: &View, left: &Unit, join: &Unit, preamble: &Preamble) -> Bytes {
    if left.generation == join.generation {
        return Bytes::new();
    }
    let bytes = preamble.opening(view, join.offset);
    bytes.slice(preamble.resume_from.min(bytes.len())..)
}
