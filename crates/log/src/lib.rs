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
//! * A *unit* is the smallest run of bytes that makes sense alone in the format: an FLV tag, an MP3 frame, an Ogg page.
//!   `committed` only ever rests on a unit boundary.
//! * Bytes below `committed` never change. The writer stores `committed` with release ordering after writing them, and
//!   a reader that loads it with acquire ordering may read everything below it; nothing else orders the two. The loom
//!   model of this crate proves exactly that.
//! * Pages are dropped from the old end when the log exceeds its retention, by its writer, and when memory is short, by
//!   the writer of any log that needs some (see [`Budget`]). The last two pages are never dropped, nor any that holds
//!   bytes not yet committed. A [`View`] keeps alive the pages it still knows, until its next refresh.
//! * A dropped page that a [`Hold`] still needs is kept for it, up to the hold's own bound, and counted as if it had
//!   not been dropped. When memory is short such pages are the first to be released.
//! * A log that only holds read keeps less for all, in smaller pages.
//! * Each page carries the index of the units that begin in it, append-only like the bytes.
//!
//! [`Bell`] wakes a reader's thread at a commit, if it sleeps and has armed the bell.
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

/// Bytes that a listener starting at a join point receives first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Preamble {
    /// Whole preamble, for a new listener.
    pub bytes: Bytes,
    /// Index in `bytes` of the part for a listener that has read this lane before: it skips bytes that may stand only
    /// at the very start, such as a file header.
    pub resume_from: usize,
    /// Number that changes whenever the codec headers in force change. A listener that skips within one generation
    /// needs no preamble.
    pub generation: u32,
    /// Bytes of the log to send before `bytes`; `None` in most formats.
    pub lead: Option<Lead>,
}

/// Rules for listeners at the start of a unit.
#[derive(Clone, Debug)]
pub enum Entry {
    /// No listener may start here.
    None,
    /// No listener may start here, and one that skips ahead may not leave just before it either.
    Sealed,
    /// A listener may start here once it has the preamble.
    Join(Arc<Preamble>),
}

/// Retention of a log, and the size of its pages.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Size of one page in bytes; at least one.
    pub page_bytes: usize,
    /// Upper bound on units that begin in one page; at least one.
    pub page_units: usize,
    /// Upper bound on pages.
    pub pages_max: usize,
    /// Upper bound on media time, rounded up to whole pages.
    pub time_max: Span,
    /// Number of newest bytes that stay although they are older than `time_max`, up to
    /// [`bytes_time_max`](Self::bytes_time_max).
    pub bytes_min: usize,
    /// Upper bound on the media time of these bytes.
    pub bytes_time_max: Span,
    /// Upper bound on media time while only [`Hold`]s read the log; bytes that their owners have yet to read are kept
    /// for them in addition.
    pub lean_max: Span,
    /// Media time up to which the newest join point stays longer.
    pub join_max: Span,
}

impl Limits {
    /// Returns the bytes of memory that the log keeps in any case.
    #[must_use]
    pub const fn floor(&self) -> usize {
        PAGES_MIN * self.page_weight()
    }

    const fn page_weight(&self) -> usize {
        Page::weight_of(self.page_bytes, self.page_units)
    }

    /// Returns the limits, with smaller pages, of a log that only [`Hold`]s read: a usual page would be most of the
    /// time that it keeps. Bytes beyond it that the owners of holds have yet to read are kept for them in addition.
    const fn lean(mut self) -> Self {
        self.page_bytes = self.page_bytes.div_ceil(LEAN_PART);
        self.page_units = self.page_units.div_ceil(LEAN_PART);
        self.time_max = self.lean_max;
        self
    }
}

/// Divisor of the page size of a log that only [`Hold`]s read; such a page is a quarter of a second of a usual stream.
const LEAN_PART: usize = 8;

/// Lower bound on the pages kept, whatever the limits say: the one being written and the one before it.
const PAGES_MIN: usize = 2;
