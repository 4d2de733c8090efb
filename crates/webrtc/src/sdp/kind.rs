//! Kinds and directions of media sections.

use rtc_sdp::description::common::Attribute;

use super::attributes::has;

/// Kind of a media section.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MediaKind {
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// Anything else.
    Other,
}

impl MediaKind {
    /// Converts the word in an `m=` line.
    pub(crate) fn of(word: &str) -> Self {
        let mut kinds = [Self::Audio, Self::Video].into_iter();
        kinds
            .find(|kind| kind.word() == word)
            .unwrap_or(Self::Other)
    }

    /// Returns the word for an `m=` line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Other => "application",
        }
    }
}

/// Direction that a peer wants for a section.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// Send and receive.
    SendRecv,
    /// Only send.
    SendOnly,
    /// Only receive.
    RecvOnly,
    /// Neither.
    Inactive,
}

impl Direction {
    /// Reads the direction from the attributes of a section.
    pub(super) fn of(attributes: &[Attribute]) -> Self {
        let all = [Self::SendOnly, Self::RecvOnly, Self::Inactive];
        let named = all.into_iter().find(|one| has(attributes, one.word()));
        named.unwrap_or(Self::SendRecv)
    }

    /// Returns the attribute of a section.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::SendRecv => "sendrecv",
            Self::SendOnly => "sendonly",
            Self::RecvOnly => "recvonly",
            Self::Inactive => "inactive",
        }
    }

    /// Whether the peer receives media.
    pub const fn receives(self) -> bool {
        matches!(self, Self::SendRecv | Self::RecvOnly)
    }

    /// Whether the peer sends media.
    pub const fn sends(self) -> bool {
        matches!(self, Self::SendRecv | Self::SendOnly)
    }
}
