//! Output interface of a muxer, and the units it writes.

use bytes::Bytes;
use media::{Span, Timestamp};

use super::Collected;

/// Usual span of a fragment: headers are 2 % of the bytes of a megabit, and players buffer more than that.
pub const FRAGMENT_SPAN: Span = Span::from_millis(100);

/// Output of a muxer.
pub trait FragmentSink {
    /// Data that joiners receive first. Clones share its memory.
    type Preamble: Clone;

    /// Appends to the open unit.
    fn put(&mut self, bytes: &[u8]);

    /// Writes a fragment, which [`end_unit`](Self::end_unit) then ends.
    fn fragment(&mut self, fragment: Collected<'_>) {
        fragment.write(&mut |bytes| self.put(bytes));
    }

    /// Creates the data that joiners receive first. Called once for each initialization segment, when the first joiner
    /// may start.
    fn preamble(&mut self, init: &Init) -> Self::Preamble;

    /// Ends the open unit. With `join`, the unit is a fragment that depends on none before it: a listener may start
    /// there.
    fn end_unit(&mut self, unit: Unit, join: Option<Self::Preamble>);

    /// Returns the maximum span of the fragment that begins at `at`, if it is limited by more than the muxer's span: the
    /// fragment ends before the first sample that does not fit. A video frame that lasts longer is entirely in the first
    /// fragment, and the following ones, until the frame ends, have only audio.
    fn room(&self, _at: Timestamp) -> Option<Span> {
        None
    }

    /// Returns whether a fragment has to begin with `next`, however short the one before it is. Called for each video
    /// frame when its duration is known, before that for independent frames, and for audio where there is no video.
    fn splits_at(&self, next: FragmentCandidate) -> bool {
        next.is_picture && next.is_independent && next.until.is_none()
    }

    /// Reports a split that [`splits_at`](Self::splits_at) requested: everything before `next` has been written.
    fn split(&mut self, _next: FragmentCandidate) {}

    /// Reports that the following media does not continue what has been written: for a while there was no media.
    fn break_off(&mut self) {}

    /// Reports the segment that is in force from the next fragment on.
    fn init(&mut self, _init: &Init) {}
}

/// Sample that may begin a fragment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FragmentCandidate {
    /// Decoding time.
    pub at: Timestamp,
    /// End, once it is known.
    pub until: Option<Timestamp>,
    /// The sample is video, not audio.
    pub is_picture: bool,
    /// A listener may start at the sample.
    pub is_independent: bool,
    /// Relation of the sample to its epoch.
    pub turn: Turn,
}

/// Run of bytes that is complete in itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unit {
    /// Kind of the content.
    pub content: Content,
    /// Decoding time of the first video frame, or of the first audio frame without video. Never earlier than that of
    /// the unit before.
    pub at: Timestamp,
    /// Duration of the video, or of the audio without video.
    pub duration: Span,
    /// The unit has a video frame that depends on none before it, or audio at which a listener may start.
    pub is_independent: bool,
    /// Relation of the unit to its epoch.
    pub turn: Turn,
    /// The unit is the first fragment of its epoch.
    pub begins_epoch: bool,
}

/// Relation of a unit to the epoch in which it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// The unit belongs to the current epoch.
    InTime,
    /// The unit was left over when the next epoch began.
    Late,
}

/// Kind of a unit's content.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Content {
    /// An initialization segment that differs from the one before it, for current listeners. It is in force from the
    /// next unit on.
    Init,
    /// Media.
    Fragment,
}

/// Initialization segment: `ftyp` and `moov`.
#[derive(Clone, Debug)]
pub struct Init {
    /// Bytes of the segment.
    pub bytes: Bytes,
    /// Counter that changes with the bytes.
    pub generation: u32,
}
