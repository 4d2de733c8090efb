//! The log: one lane's final wire bytes, appended by one writer and read by many.
//!
//! ```text
//!  start                                            committed      written
//!    │                                                  │             │
//!    ▼                                                  ▼             ▼
//!  ┌────────── page ──────────┬────────── page ─────────┬─────┐
//!  │unit│unit │ unit  │ unit ··· unit │unit│  unit      │open │
//!  └──▲───────────────▲─────────────────▲───────────────┴─────┘
//!    join            join              join
//! ```
//!
//! * Offsets count bytes since the log began and never repeat.
//! * A *unit* is the smallest run of bytes that makes sense alone in the format: an FLV tag, an MP3
//!   frame, an Ogg page. `committed` only ever rests on a unit boundary.
//! * Bytes below `committed` never change. The writer stores `committed` with release ordering after
//!   writing them, and a reader that loads it with acquire ordering may read everything below it;
//!   nothing else orders the two. The loom model of this crate proves exactly that.
//! * Pages are dropped from the old end when the log exceeds its retention, by its writer, and when memory is
//!   short, by any log's writer that needs some (see [`Budget`]); never the last two, and none that holds bytes
//!   not yet committed. A [`View`] keeps alive the pages it still knows, until its next refresh.
//! * A dropped page that a [`Hold`] still needs is kept for it, up to the hold's own bound, and counted as
//!   if it had not been dropped. When memory is short such pages are the first to go.
//! * A log that nothing but holds reads keeps less for all, in smaller pages.
//! * Each page carries the index of the units that begin in it, append-only like the bytes.
//!
//! [`Bell`] wakes a reader's thread at a commit, if it sleeps and has asked for it.
//!
//! Caller: `fanout`. A lane has a [`Writer`], used under its stream's lock; its workers and readers have a [`View`]
//! each, its recorders a [`Hold`].

mod bell;
mod budget;
mod cells;
mod entries;
mod hold;
mod lead;
#[cfg(all(test, loom))]
mod loom_model;
#[cfg(any(all(test, not(loom)), fuzzing))]
pub mod model;
mod page;
mod pages;
mod shared;
mod sync;
mod view;
mod writer;

use std::sync::Arc;

use bytes::Bytes;
use media::Span;

pub use bell::Bell;
pub use budget::{Account, Budget, SpoolShare};
pub use hold::{Behind, Hold};
pub use lead::Lead;
use page::Page;
pub use page::Unit;
pub use shared::{Readers, Shared};
pub use view::View;
pub use writer::Writer;

/// What a listener that starts at a join point is given first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Preamble {
    /// The whole preamble, for a new listener.
    pub bytes: Bytes,
    /// Where in `bytes` the part begins that a listener needs that has read this lane before: it skips what may
    /// stand only at the very start, such as a file header.
    pub resume_from: usize,
    /// Changes whenever the codec headers in force change. A listener that skips within one
    /// generation needs no preamble.
    pub generation: u32,
    /// What of the log comes before `bytes`; `None` in most formats.
    pub lead: Option<Lead>,
}

/// How a listener may come to, or go from, the start of a unit.
#[derive(Clone, Debug)]
pub enum Entry {
    /// No listener may start here.
    None,
    /// No listener may start here, and one that skips ahead may not leave just before it either.
    Sealed,
    /// A listener may start here once it has the preamble.
    Join(Arc<Preamble>),
}

/// How much a log keeps, and in which pieces.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one page; at least one.
    pub page_bytes: usize,
    /// Units that may begin in one page; at least one.
    pub page_units: usize,
    /// Upper bound on pages.
    pub pages_max: usize,
    /// Upper bound on media time, rounded up to whole pages.
    pub time_max: Span,
    /// As many of the newest bytes stay although they are older, up to [`bytes_time_max`](Self::bytes_time_max).
    pub bytes_min: usize,
    /// Upper bound on the media time of those.
    pub bytes_time_max: Span,
    /// The same while nothing but [`Hold`]s reads it: what these are behind by is kept for them besides.
    pub lean_max: Span,
    /// What a joiner would start at stays longer, up to this much media time.
    pub join_max: Span,
}

impl Limits {
    /// Bytes of memory that the log keeps whatever happens.
    #[must_use]
    pub const fn floor(&self) -> usize {
        PAGES_MIN * self.page_weight()
    }

    const fn page_weight(&self) -> usize {
        Page::weight_of(self.page_bytes, self.page_units)
    }

    /// The same with smaller pages, for a log that nothing but [`Hold`]s reads: of the time that it keeps a usual page
    /// would be most. What they are behind by beyond that is kept for them besides.
    const fn lean(mut self) -> Self {
        self.page_bytes = self.page_bytes.div_ceil(LEAN_PART);
        self.page_units = self.page_units.div_ceil(LEAN_PART);
        self.time_max = self.lean_max;
        self
    }
}

/// A page of a log that nothing but [`Hold`]s reads is one part in this many of a usual one: a quarter of a second of
/// a usual stream.
const LEAN_PART: usize = 8;

/// The fewest pages kept, whatever the limits say: the one being written and the one before it.
const PAGES_MIN: usize = 2;
