//! In which form a stream is sent to a listener.

use fanout::{Format, Info, Packager, Protocol};
use media::{Codec, Container, Kind, Track};

use crate::packager::{Elementary, Flv, Icy, Raw};

/// A wire format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// The source's own container.
    Source,
    /// The same with titles between.
    Icy,
    /// FLV.
    Flv,
    /// The AAC of an RTMP stream.
    Aac,
    /// The MP3 of an RTMP stream.
    Mp3,
}

/// A container that is asked for by the end of an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Extension {
    Flv,
    Aac,
    Mp3,
    Ogg,
    WebM,
}

/// What can be said to a listener's wish.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Choice {
    /// It is sent like this.
    Take(Form),
    /// It depends on a track that has not been announced.
    Unclear,
    /// The stream's codecs do not allow it.
    Impossible,
}

impl Extension {
    pub(crate) const ALL: [Self; 5] = [Self::Flv, Self::Aac, Self::Mp3, Self::Ogg, Self::WebM];

    /// With the dot.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Flv => ".flv",
            Self::Aac => ".aac",
            Self::Mp3 => ".mp3",
            Self::Ogg => ".ogg",
            Self::WebM => ".webm",
        }
    }
}

impl Form {
    /// The form for a listener that asks for `extension`, or for the stream by its own name.
    pub(crate) fn choose(info: &Info, extension: Option<Extension>, wants_icy: bool) -> Choice {
        let container = info.source.container;
        let Some(extension) = extension else {
            return Choice::Take(match container {
                Container::Tracks => Self::Flv,
                _ => Self::of_source(container, wants_icy),
            });
        };
        match (extension, container) {
            (Extension::Flv, Container::Tracks) => Choice::Take(Self::Flv),
            (Extension::Flv, Container::Mp3 | Container::Adts) => {
                Self::when(Self::Flv, info, Flv::carries)
            }
            (Extension::Aac, Container::Tracks) => Self::when(Self::Aac, info, |track| {
                Elementary::carries(track, Codec::Aac)
            }),
            (Extension::Mp3, Container::Tracks) => Self::when(Self::Mp3, info, |track| {
                Elementary::carries(track, Codec::Mp3)
            }),
            (Extension::Aac, Container::Adts)
            | (Extension::Mp3, Container::Mp3)
            | (Extension::Ogg, Container::Ogg)
            | (Extension::WebM, Container::WebM) => {
                Choice::Take(Self::of_source(container, wants_icy))
            }
            _ => Choice::Impossible,
        }
    }

    fn of_source(container: Container, wants_icy: bool) -> Self {
        let has_titles = matches!(container, Container::Mp3 | Container::Adts);
        if wants_icy && has_titles {
            Self::Icy
        } else {
            Self::Source
        }
    }

    /// This form if a track allows it; unclear while there is no sound.
    fn when(self, info: &Info, allows: impl Fn(&Track) -> bool) -> Choice {
        if info.tracks.iter().any(|track| allows(track)) {
            Choice::Take(self)
        } else if info.tracks.iter().all(|track| track.kind != Kind::Audio) {
            Choice::Unclear
        } else {
            Choice::Impossible
        }
    }

    /// The lane's key, and how its listeners are counted.
    pub(crate) const fn format(self) -> Format {
        let (name, protocol) = match self {
            Self::Source => ("source", Protocol::Http),
            Self::Icy => ("icy", Protocol::Icy),
            Self::Flv => ("flv", Protocol::Flv),
            Self::Aac => ("aac", Protocol::Http),
            Self::Mp3 => ("mp3", Protocol::Http),
        };
        Format { name, protocol }
    }

    /// What makes the lane's bytes.
    pub(crate) fn packager(self, container: Container) -> Box<dyn Packager> {
        match self {
            Self::Source => Box::new(Raw::new(container)),
            Self::Icy => Box::new(Icy::new()),
            Self::Flv => Box::new(Flv::default()),
            Self::Aac => Box::new(Elementary::new(Codec::Aac)),
            Self::Mp3 => Box::new(Elementary::new(Codec::Mp3)),
        }
    }

    /// The media type of the bytes.
    pub(crate) fn media_type(self, info: &Info) -> &str {
        match self {
            Self::Flv => "video/x-flv",
            Self::Aac => "audio/aac",
            Self::Mp3 => "audio/mpeg",
            Self::Source | Self::Icy if !info.source.content_type.is_empty() => {
                &info.source.content_type
            }
            Self::Source | Self::Icy => match info.source.container {
                Container::Mp3 => "audio/mpeg",
                Container::Adts => "audio/aac",
                Container::Ogg => "application/ogg",
                Container::WebM => "video/webm",
                Container::Tracks | Container::Other => "application/octet-stream",
            },
        }
    }

    /// The first two bytes that every stream of this form begins with; empty when nobody knows.
    pub(crate) const fn opening(self, container: Container) -> &'static [u8] {
        match (self, container) {
            (Self::Flv, _) => b"FL",
            (Self::Aac, _) | (Self::Source | Self::Icy, Container::Adts) => b"\xFF\xF1",
            (Self::Mp3, _) | (Self::Source | Self::Icy, Container::Mp3) => b"\xFF\xFB",
            (Self::Source | Self::Icy, Container::Ogg) => b"Og",
            (Self::Source | Self::Icy, Container::WebM) => b"\x1A\x45",
            (Self::Source | Self::Icy, Container::Tracks | Container::Other) => b"",
        }
    }
}
