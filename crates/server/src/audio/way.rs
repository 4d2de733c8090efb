//! How Opus is had from a publisher's track.

use container::rtp;
use media::{Codec, Container, Framing, Track};
use transcode::{Caveat, Unsupported, examine};

use super::tally::CONTAINER;

/// What browsers and the Opus of WebRTC have (RFC 7587 §4.2).
const CHANNELS_MAX: u8 = 2;

/// What is to be done with a track of sound.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Way {
    /// Nothing: it is Opus that everybody can be given.
    None,
    /// Its packets are taken out of Ogg pages.
    Unpack,
    /// It is transcoded, and this is lost.
    Transcode(Option<Caveat>),
    /// Nothing can be done.
    Impossible(Refusal),
}

/// Why there is no Opus.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Refusal {
    /// The transcoder does not take it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The sound is somewhere in bytes that are passed on as they are.
    #[error("sound in {0} is not made into Opus; publish it as MP3, AAC or Ogg Opus")]
    Container(&'static str),
}

impl Way {
    /// For a track that came in `container`.
    pub(super) fn of(container: Container, track: &Track) -> Self {
        match (container, track.codec, track.framing) {
            (_, Codec::Opus, _) if track.channels > CHANNELS_MAX => {
                Self::Impossible(Unsupported::Channels(track.channels).into())
            }
            (Container::Ogg, Codec::Opus, Framing::SelfFramed) => Self::Unpack,
            (Container::WebM, ..) => Self::Impossible(Refusal::Container("WebM")),
            (Container::Other, ..) => Self::Impossible(Refusal::Container("this container")),
            // Several streams in one packet are only relayed.
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
    /// The word for metrics.
    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Unsupported(reason) => reason.label(),
            Self::Container(_) => CONTAINER,
        }
    }
}
