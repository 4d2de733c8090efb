//! What a media section carries, and in which direction.

use rtc_sdp::description::common::Attribute;

use super::attributes::has;

/// What a media section carries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MediaKind {
    /// Sound.
    Audio,
    /// Picture.
    Video,
    /// Anything else.
    Other,
}

impl MediaKind {
    /// Reads the word of an `m=` line.
    pub(crate) fn of(word: &str) -> Self {
        let mut kinds = [Self::Audio, Self::Video].into_iter();
        kinds
            .find(|kind| kind.word() == word)
            .unwrap_or(Self::Other)
    }

    /// The word in an `m=` line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Other => "application",
        }
    }
}

/// What a peer wants to do with a section.
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
    /// Reads the attributes of a section.
    pub(super) fn of(attributes: &[Attribute]) -> Self {
        let all = [Self::SendOnly, Self::RecvOnly, Self::Inactive];
        let named = all.into_iter().find(|one| has(attributes, one.word()));
        named.unwrap_or(Self::SendRecv)
    }

    /// The attribute of a section.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::SendRecv => "sendrecv",
            Self::SendOnly => "sendonly",
            Self::RecvOnly => "recvonly",
            Self::Inactive => "inactive",
        }
    }

    /// Whether the peer takes media.
    pub const fn receives(self) -> bool {
        matches!(self, Self::SendRecv | Self::RecvOnly)
    }

    /// Whether the peer gives media.
    pub const fn sends(self) -> bool {
        matches!(self, Self::SendRecv | Self::SendOnly)
    }
}
