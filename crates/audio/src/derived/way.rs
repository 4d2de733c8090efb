//! Ways of making Opus from a publisher's track.

use crate::transcode::{Caveat, Unsupported, examine};
use container::rtp;
use media::{Codec, Container, Framing, Track};

use super::tally::CONTAINER;

/// Largest number of channels that browsers and Opus over WebRTC support (RFC 7587 §4.2).
const CHANNELS_MAX: u8 = 2;

/// Treatment of an audio track.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Way {
    /// Nothing: the track is Opus that every listener can be sent.
    None,
    /// Its packets are taken out of Ogg pages.
    Unpack,
    /// The track is transcoded, with this loss.
    Transcode(Option<Caveat>),
    /// Nothing can be done.
    Impossible(Refusal),
}

/// Reason why there is no Opus.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Refusal {
    /// The transcoder does not support the track.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The audio is inside bytes that are relayed unread.
    #[error("audio in {0} is not transcoded to Opus; publish it as MP3, AAC or Ogg Opus")]
    Container(&'static str),
}

impl Way {
    /// Decides for a track that arrived in `container`.
    pub(super) fn of(container: Container, track: &Track) -> Self {
        match (container, track.codec, track.framing) {
            (_, Codec::Opus, _) if track.channels > CHANNELS_MAX => {
                Self::Impossible(Unsupported::Channels(track.channels).into())
            }
            (Container::Ogg, Codec::Opus, Framing::SelfFramed) => Self::Unpack,
            (Container::WebM, ..) => Self::Impossible(Refusal::Container("WebM")),
            (Container::Other, ..) => Self::Impossible(Refusal::Container("this container")),
            // Opus of several streams per packet is only relayed.
            (_, Codec::Opus, Framing::Bare)
                if rtp::PayloadFormat::of(track) != Some(rtp::PayloadFormat::Opus) =>
            {
                Self::Impossible(Unsupported::Codec(Codec::Opus).into())
            }
            (_, Codec::Opus, _) => Self::None,
            (Container::Ogg, codec, _) => {
                Self::Impossible(Refusal::Unsupported(Unsupported::Codec(codec)))
            }
            (Container::Unknown | Container::Tracks | Container::Mp3 | Container::Adts, ..) => {
                match examine(track) {
                    Ok(caveat) => Self::Transcode(caveat),
                    Err(reason) => Self::Impossible(reason.into()),
                }
            }
        }
    }
}

impl Refusal {
    /// Returns the label for metrics.
    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Unsupported(reason) => reason.label(),
            Self::Container(_) => CONTAINER,
        }
    }
}
