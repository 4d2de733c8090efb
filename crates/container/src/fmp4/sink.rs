//! What a muxer writes, and where.

use bytes::Bytes;
use media::{Span, Timestamp};

use super::Collected;

/// The longest fragment that may be configured. Longer ones serve no live listener, and no picture's length
/// overflows its field before it.
const FRAGMENT_SPAN_MAX: Span = Span::from_millis(10_000);

/// Where fragments end.
#[derive(Clone, Copy, Debug)]
pub struct Fragmentation {
    /// A fragment ends once it spans this much; zero makes each picture, or frame of sound where there are
    /// none, a fragment. More than ten seconds counts as ten.
    ///
    /// A fragment delays its first sample by its span. Its headers take 32 bytes, 64 for each track in it, 16
    /// for each picture and 8 for each frame of sound.
    pub span: Span,
}

impl Fragmentation {
    pub(super) fn bounded(self) -> Span {
        self.span.min(FRAGMENT_SPAN_MAX)
    }
}

impl Default for Fragmentation {
    /// A tenth of a second: headers are 2 % of the bytes of a megabit, and players buffer more than that.
    fn default() -> Self {
        Self {
            span: Span::from_millis(100),
        }
    }
}

/// Where a muxer writes.
pub trait Sink {
    /// What joiners receive first. Clones share.
    type Preamble: Clone;

    /// Appends to the open unit.
    fn put(&mut self, bytes: &[u8]);

    /// Writes a fragment, which [`end_unit`](Self::end_unit) then ends.
    fn fragment(&mut self, fragment: Collected<'_>) {
        fragment.write(&mut |bytes| self.put(bytes));
    }

    /// Makes what joiners receive first. Called once for each initialization segment, when the first of them
    /// may start.
    fn preamble(&mut self, init: &Init) -> Self::Preamble;

    /// Ends the open unit. With `join` it is a fragment that depends on none before it: a listener may
    /// start there.
    fn end_unit(&mut self, unit: Unit, join: Option<Self::Preamble>);

    /// How much the fragment that begins at `at` may span, if that is limited by more than [`Fragmentation`]:
    /// it ends before the first sample that does not fit. Of a picture that lasts longer the first fragment has it
    /// whole, and those that follow, until it ends, have only sound.
    fn room(&self, _at: Timestamp) -> Option<Span> {
        None
    }

    /// Whether a fragment has to begin with `next`, however short the one before it is. Called for each picture when
    /// it is known how long that lasts, before that for those that are independent, and for sound where there are no
    /// pictures.
    fn splits_at(&self, next: FragmentCandidate) -> bool {
        next.is_picture && next.is_independent && next.until.is_none()
    }

    /// [`splits_at`](Self::splits_at) asked for a split: everything before `next` has been written.
    fn split(&mut self, _next: FragmentCandidate) {}

    /// What follows does not continue what has been written: for a while there was no media.
    fn break_off(&mut self) {}

    /// That segment is in force from the next fragment on.
    fn init(&mut self, _init: &Init) {}
}

/// A sample that may begin a fragment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FragmentCandidate {
    /// When it is to be decoded.
    pub at: Timestamp,
    /// When it ends, once that is known.
    pub until: Option<Timestamp>,
    /// It is a picture, and no sound.
    pub is_picture: bool,
    /// A listener may start at it.
    pub is_independent: bool,
    /// Whether its epoch is still the present one.
    pub turn: Turn,
}

/// A run of bytes that is complete in itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unit {
    /// What it is.
    pub content: Content,
    /// When its first picture, or without any its first sound, is to be decoded. Never before the unit
    /// that precedes it.
    pub at: Timestamp,
    /// How long its pictures, or without any its sound, last.
    pub duration: Span,
    /// It has a picture that depends on none before it; or it is sound at which a listener may start.
    pub is_independent: bool,
    /// Whether its epoch is still the present one.
    pub turn: Turn,
    /// It is the first fragment of its epoch.
    pub begins_epoch: bool,
}

/// When in relation to epochs a unit is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// In its epoch.
    InTime,
    /// It was left over when the next epoch began.
    Late,
}

/// What a unit is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Content {
    /// An initialization segment that differs from the one before it, for present listeners. It is in force
    /// from the next unit on.
    Init,
    /// Media.
    Fragment,
}

/// An initialization segment: `ftyp` and `moov`.
#[derive(Clone, Debug)]
pub struct Init {
    /// Its bytes.
    pub bytes: Bytes,
    /// Changes with them.
    pub generation: u32,
}
