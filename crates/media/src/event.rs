//! Events of a stream: what happens beside its media, at a time of its own.
//!
//! An event comes from the publisher (a data message) or from the operator (the API). It belongs to no track; each
//! container has its own way to carry it, or none.

use bytes::Bytes;

use crate::{Span, Timestamp};

/// An event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TimedEvent {
    /// When it takes effect: on its publisher's clock until the stream has placed it, then on the stream's timeline.
    pub at: Timestamp,
    /// What it says.
    pub content: EventContent,
    /// It came as a data message ([`Item::Script`](crate::Item::Script)), which FLV and RTMP carry as it was.
    pub is_scripted: bool,
}

/// What an event says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EventContent {
    /// A complete ID3v2 tag.
    Id3(Bytes),
    /// An instruction of SCTE-35.
    Cue(Cue),
    /// A line of text that belongs to the picture.
    Caption(Caption),
}

/// An instruction of SCTE-35: a break begins or ends, or something else.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cue {
    /// Names the break: its beginning and its end have the same. Untrusted text.
    pub id: String,
    /// What it instructs.
    pub action: CueAction,
    /// How long the break is to last; `None` if that is open, or no break begins.
    pub duration: Option<Span>,
    /// The `splice_info_section`, whole and with a valid checksum.
    pub section: Bytes,
    /// When the break began that this ends, as far as the stream knows.
    pub began: Option<Timestamp>,
}

/// What a [`Cue`] instructs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CueAction {
    /// The programme is left: a break begins.
    Out,
    /// The programme goes on: a break ends.
    In,
    /// Something else; the section says what.
    Other,
}

/// A caption. Untrusted text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Caption {
    /// The text.
    pub text: String,
    /// Its language as BCP 47 has it; empty if unknown.
    pub language: String,
    /// How long it is shown; zero if unknown.
    pub duration: Span,
}

impl TimedEvent {
    /// Bytes that it keeps in memory, beyond itself.
    pub fn bytes(&self) -> usize {
        match &self.content {
            EventContent::Id3(tag) => tag.len(),
            EventContent::Cue(cue) => cue.id.len() + cue.section.len(),
            EventContent::Caption(caption) => caption.text.len() + caption.language.len(),
        }
    }
}
