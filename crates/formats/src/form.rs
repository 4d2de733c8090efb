//! In which form a stream is sent to a listener.

use fanout::{Format, Info, Offer, Packager, Protocol};
use media::{Codec, Container, Kind, Track};

use crate::{Elementary, Flv, Icy, Opus, Raw};

/// A wire format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// The source's own container.
    Source,
    /// The same with titles between.
    Icy,
    /// FLV.
    Flv,
    /// The AAC of a stream of tracks.
    Aac,
    /// The same with titles between.
    IcyAac,
    /// The MP3 of a stream of tracks.
    Mp3,
    /// The same with titles between.
    IcyMp3,
    /// Opus in Ogg: that of an RTMP or WebRTC stream, or what is derived from other sound.
    Opus,
}

/// A container that is asked for by the end of an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Extension {
    /// FLV.
    Flv,
    /// AAC in ADTS.
    Aac,
    /// MP3.
    Mp3,
    /// Ogg, with whatever the source has in it, or Opus.
    Ogg,
    /// WebM.
    WebM,
    /// MPEG transport stream. No source's container can be sent as one yet, nor as MP4; the
    /// addresses are claimed so that whoever tries them is told what works.
    Ts,
    /// Fragmented MP4.
    Mp4,
}

/// What can be said to a listener's wish.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice {
    /// It is sent like this.
    Take(Form),
    /// It depends on a track that has not been announced, or on bytes that have not come.
    Unclear,
    /// The stream's codecs do not allow it.
    Impossible,
}

impl Extension {
    /// All of them, in the order in which addresses are looked at.
    pub const ALL: [Self; 7] = [
        Self::Flv,
        Self::Aac,
        Self::Mp3,
        Self::Ogg,
        Self::WebM,
        Self::Ts,
        Self::Mp4,
    ];

    /// With the dot.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Flv => ".flv",
            Self::Aac => ".aac",
            Self::Mp3 => ".mp3",
            Self::Ogg => ".ogg",
            Self::WebM => ".webm",
            Self::Ts => ".ts",
            Self::Mp4 => ".mp4",
        }
    }
}

impl Form {
    /// The form for a listener that asks for `extension`, or for the stream by its own name.
    pub fn choose(info: &Info, extension: Option<Extension>, wants_icy: bool) -> Choice {
        let container = info.source.container;
        if container == Container::Unknown {
            return Choice::Unclear;
        }
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
            (Extension::Aac, Container::Tracks) => {
                let form = if wants_icy { Self::IcyAac } else { Self::Aac };
                Self::when(form, info, |track| Elementary::carries(track, Codec::Aac))
            }
            (Extension::Mp3, Container::Tracks) => {
                let form = if wants_icy { Self::IcyMp3 } else { Self::Mp3 };
                Self::when(form, info, |track| Elementary::carries(track, Codec::Mp3))
            }
            (Extension::Ogg, Container::Tracks | Container::Mp3 | Container::Adts) => {
                Self::opus(info)
            }
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

    /// The publisher's own Opus, or what is offered in its stead.
    fn opus(info: &Info) -> Choice {
        match &info.offer {
            Offer::Track { track, .. } if Opus::carries(track) => Choice::Take(Self::Opus),
            _ => Self::when(Self::Opus, info, Opus::carries),
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
    pub const fn format(self) -> Format {
        let (name, protocol) = match self {
            Self::Source => ("source", Protocol::Http),
            Self::Icy => ("icy", Protocol::Icy),
            Self::Flv => ("flv", Protocol::Flv),
            Self::Aac => ("aac", Protocol::Http),
            Self::IcyAac => ("icy-aac", Protocol::Icy),
            Self::Mp3 => ("mp3", Protocol::Http),
            Self::IcyMp3 => ("icy-mp3", Protocol::Icy),
            Self::Opus => ("opus", Protocol::Http),
        };
        Format { name, protocol }
    }

    /// Whether titles stand between its frames, every [`METAINT`](crate::METAINT) bytes.
    pub const fn has_titles(self) -> bool {
        matches!(self, Self::Icy | Self::IcyAac | Self::IcyMp3)
    }

    /// What makes the lane's bytes.
    pub fn packager(self, container: Container) -> Box<dyn Packager> {
        match self {
            Self::Source => Box::new(Raw::new(container)),
            Self::Icy => Box::new(Icy::over_source()),
            Self::Flv => Box::new(Flv::default()),
            Self::Aac => Box::new(Elementary::new(Codec::Aac)),
            Self::IcyAac => Box::new(Icy::over_track(Codec::Aac)),
            Self::Mp3 => Box::new(Elementary::new(Codec::Mp3)),
            Self::IcyMp3 => Box::new(Icy::over_track(Codec::Mp3)),
            Self::Opus => Box::new(Opus::default()),
        }
    }

    /// The media type of the bytes. The source's word counts where no browser would show such
    /// bytes as a page, whose scripts would run with the rights of this server's own pages.
    pub fn media_type(self, info: &Info) -> &str {
        match self {
            Self::Flv => "video/x-flv",
            Self::Aac | Self::IcyAac => "audio/aac",
            Self::Mp3 | Self::IcyMp3 => "audio/mpeg",
            Self::Opus => "audio/ogg",
            Self::Source | Self::Icy if is_harmless(&info.source.content_type) => {
                &info.source.content_type
            }
            Self::Source | Self::Icy => match info.source.container {
                Container::Mp3 => "audio/mpeg",
                Container::Adts => "audio/aac",
                Container::Ogg => "application/ogg",
                Container::WebM => "video/webm",
                _ => "application/octet-stream",
            },
        }
    }

    /// The first two bytes that every stream of this form begins with; empty when nobody knows.
    pub const fn opening(self, container: Container) -> &'static [u8] {
        match (self, container) {
            (Self::Flv, _) => b"FL",
            (Self::Opus, _) => b"Og",
            (Self::Aac | Self::IcyAac, _) | (Self::Source | Self::Icy, Container::Adts) => {
                b"\xFF\xF1"
            }
            (Self::Mp3 | Self::IcyMp3, _) | (Self::Source | Self::Icy, Container::Mp3) => {
                b"\xFF\xFB"
            }
            (Self::Source | Self::Icy, Container::Ogg) => b"Og",
            (Self::Source | Self::Icy, Container::WebM) => b"\x1A\x45",
            (Self::Source | Self::Icy, _) => b"",
        }
    }
}

/// What stands in the names of `application/…` types that browsers show as documents or run.
const SHOWN_OR_RUN: [&str; 7] = ["html", "xml", "script", "pdf", "wasm", "flash", "java"];

/// Whether browsers take what has a media type for sound, for moving pictures, or for a file.
///
/// Its subtype may have no `+`: browsers render whatever ends in `+xml` as a document. Nor may there
/// be a comma anywhere, where several types stand in one header and the last counts (Fetch §2.2.3).
fn is_harmless(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_inert = match essence.split_once('/') {
        Some(("audio" | "video", subtype)) => !subtype.is_empty() && subtype.bytes().all(is_plain),
        Some(("application", subtype)) => {
            let is_shown = SHOWN_OR_RUN.iter().any(|word| subtype.contains(word));
            !subtype.is_empty() && subtype.bytes().all(is_plain) && !is_shown
        }
        _ => false,
    };
    is_inert
        && content_type
            .bytes()
            .all(|byte| (b' '..=b'~').contains(&byte) && byte != b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sound_and_pictures_are_what_the_source_calls_them() {
        for harmless in [
            "audio/mpeg",
            "Audio/AACP",
            "video/x-matroska",
            "application/ogg",
            "audio/ogg; codecs=opus",
            "video/nsv",
            "application/octet-stream",
            "application/x-own-format",
        ] {
            assert!(is_harmless(harmless), "{harmless}");
        }
        for harmful in [
            "",
            "audio",
            "audio/",
            "text/html",
            "TEXT/HTML",
            "text/html;audio/mpeg",
            "image/svg+xml",
            "audio/x+xml",
            "application/xhtml+xml",
            "application/xml",
            "application/javascript",
            "application/ecmascript",
            "application/pdf",
            "application/",
            "multipart/x-mixed-replace",
            "audio/mpeg,text/html",
            "audio/mpeg; a=b, text/html",
            "audio/mpeg\r\nContent-Type: text/html",
            "audio/<script>",
            " text/html",
        ] {
            assert!(!is_harmless(harmful), "{harmful}");
        }
    }
}
