//! Events of a stream: occurrences beside its media, each at a time of its own.
//!
//! An event comes from the publisher (a data message) or from the operator (the API). It belongs to no track; each
//! container has its own way to carry it, or none.

use bytes::Bytes;

use crate::{Span, Timestamp};

/// An event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TimedEvent {
    /// Time at which it takes effect: on its publisher's clock until the stream has placed it, then on the stream's
    /// timeline.
    pub at: Timestamp,
    /// Content of the event.
    pub content: EventContent,
    /// Whether it came as a data message ([`Item::Script`](crate::Item::Script)), which FLV and RTMP carry unchanged.
    pub is_scripted: bool,
}

/// Content of an event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EventContent {
    /// A complete ID3v2 tag.
    Id3(Bytes),
    /// An SCTE-35 instruction.
    Cue(Cue),
    /// A line of text that belongs to the video.
    Caption(Caption),
}

/// An SCTE-35 instruction: the beginning or end of a break, or something else.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cue {
    /// Identifier of the break, the same at its beginning and its end. Untrusted text.
    pub id: String,
    /// Kind of the instruction.
    pub action: CueAction,
    /// Planned duration of the break; `None` if that is open, or no break begins.
    pub duration: Option<Span>,
    /// `splice_info_section`, complete and with a valid checksum.
    pub section: Bytes,
    /// Time at which the break that this ends began, as far as the stream knows it.
    pub began: Option<Timestamp>,
}

/// Kind of a [`Cue`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CueAction {
    /// A break begins: the programme is left.
    Out,
    /// A break ends: the programme continues.
    In,
    /// Something else, described in the section.
    Other,
}

/// A caption. Untrusted text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Caption {
    /// The text.
    pub text: String,
    /// Language as a BCP 47 tag; empty if unknown.
    pub language: String,
    /// Display duration; zero if unknown.
    pub duration: Span,
}

impl TimedEvent {
    /// Returns the bytes that it keeps in memory, beyond itself.
    pub fn bytes(&self) -> usize {
        match &self.content {
            EventContent::Id3(tag) => tag.len(),
            EventContent::Cue(cue) => cue.id.len() + cue.section.len(),
            EventContent::Caption(caption) => caption.text.len() + caption.language.len(),
        }
    }
}
