//! The form in which a stream is sent to an HTTP listener: the table of formats.

use std::borrow::Cow;

use container::{flv, fmp4, ts};
use fanout::{Choice, DerivedOffer, Format, Info, Packager, Protocol, Retention};
use media::{Charset, Codec, Container, Kind, Track};

use crate::{Elementary, Flv, Icy, Mp4, Opus, Raw, Ts};

/// A wire format of HTTP listeners.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// The source's own container.
    Source,
    /// The same with titles in between.
    Icy,
    /// The source's Ogg as one logical stream.
    Unchained,
    /// FLV.
    Flv,
    /// Fragmented MP4.
    Mp4,
    /// MPEG transport stream.
    Ts,
    /// The AAC of a stream of tracks.
    Aac,
    /// The same with titles in between.
    IcyAac,
    /// The MP3 of a stream of tracks.
    Mp3,
    /// The same with titles in between.
    IcyMp3,
    /// Opus in Ogg: that of an RTMP or WebRTC stream, or what is derived from other sound.
    Opus,
}

/// A container that the extension of an address asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Extension {
    /// FLV.
    Flv,
    /// AAC in ADTS.
    Aac,
    /// MP3.
    Mp3,
    /// Ogg, with the source's own codecs, or Opus.
    Ogg,
    /// WebM.
    WebM,
    /// MPEG transport stream.
    Ts,
    /// Fragmented MP4.
    Mp4,
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

/// How a form is made, and of what.
struct Row {
    /// The lane's key.
    name: &'static str,
    /// How its listeners are counted.
    protocol: Protocol,
    /// For people.
    label: &'static str,
    /// The extension of its address; `None` for the stream's own name.
    extension: Option<Extension>,
    media_type: &'static str,
    /// The first two bytes of every stream of this form; empty where they differ.
    opening: &'static [u8],
    /// The containers of publishers that it can be made from.
    made_from: &'static [Container],
    /// Which of the tracks it needs.
    needs: Needs,
    /// Which tracks it can carry.
    carries: fn(&Track) -> bool,
    make: fn(Container, Charset) -> Box<dyn Packager>,
    /// The same with titles in between.
    with_titles: Option<Form>,
}

/// Which tracks must be carried for a form to be available.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Needs {
    /// Any; no track is waited for.
    Nothing,
    /// One of sound.
    Sound,
    /// The first of each kind that there is.
    FirstOfEachKind,
}

/// Publishers whose tracks are known sample by sample.
const FRAMED: &[Container] = &[Container::Tracks, Container::Mp3, Container::Adts];

/// What is usual of a form.
const USUAL: Row = Row {
    name: "",
    protocol: Protocol::Http,
    label: "",
    extension: None,
    media_type: "",
    opening: b"",
    made_from: FRAMED,
    needs: Needs::FirstOfEachKind,
    carries: |_| true,
    make: |container, _| Box::new(Raw::new(container)),
    with_titles: None,
};

impl Form {
    /// All of them, in the order in which a stream's addresses are listed.
    const ALL: [Self; 11] = [
        Self::Source,
        Self::Icy,
        Self::Unchained,
        Self::Flv,
        Self::Mp4,
        Self::Ts,
        Self::Aac,
        Self::IcyAac,
        Self::Mp3,
        Self::IcyMp3,
        Self::Opus,
    ];

    /// The table.
    const fn row(self) -> Row {
        match self {
            Self::Source => Row {
                name: "source",
                label: "source",
                made_from: &[],
                needs: Needs::Nothing,
                with_titles: Some(Self::Icy),
                ..USUAL
            },
            Self::Icy => Row {
                name: "icy",
                protocol: Protocol::Icy,
                make: |_, charset| Box::new(Icy::over_source(charset)),
                with_titles: None,
                ..Self::Source.row()
            },
            Self::Unchained => Row {
                name: "unchained",
                make: |_, _| Box::new(Raw::unchained()),
                with_titles: None,
                ..Self::Source.row()
            },
            Self::Flv => Row {
                name: "flv",
                protocol: Protocol::Flv,
                label: "FLV",
                extension: Some(Extension::Flv),
                media_type: "video/x-flv",
                opening: b"FL",
                needs: Needs::Nothing,
                carries: flv::can_mux,
                make: |_, _| Box::new(Flv::default()),
                ..USUAL
            },
            Self::Mp4 => Row {
                name: "mp4",
                label: "MP4",
                extension: Some(Extension::Mp4),
                media_type: "video/mp4",
                opening: b"\0\0",
                carries: fmp4::can_mux,
                make: |_, _| Box::new(Mp4::default()),
                ..USUAL
            },
            Self::Ts => Row {
                name: "ts",
                label: "MPEG-TS",
                extension: Some(Extension::Ts),
                media_type: ts::MEDIA_TYPE,
                opening: b"G@",
                carries: ts::can_mux,
                make: |_, _| Box::new(Ts::default()),
                ..USUAL
            },
            Self::Aac => Row {
                name: "aac",
                label: "AAC",
                extension: Some(Extension::Aac),
                media_type: "audio/aac",
                opening: b"\xFF\xF1",
                made_from: &[Container::Tracks],
                needs: Needs::Sound,
                carries: |track| Elementary::carries(track, Codec::Aac),
                make: |_, _| Box::new(Elementary::new(Codec::Aac)),
                with_titles: Some(Self::IcyAac),
                ..USUAL
            },
            Self::IcyAac => Row {
                name: "icy-aac",
                protocol: Protocol::Icy,
                make: |_, charset| Box::new(Icy::over_track(Codec::Aac, charset)),
                with_titles: None,
                ..Self::Aac.row()
            },
            Self::Mp3 => Row {
                name: "mp3",
                label: "MP3",
                extension: Some(Extension::Mp3),
                media_type: "audio/mpeg",
                opening: b"\xFF\xFB",
                carries: |track| Elementary::carries(track, Codec::Mp3),
                make: |_, _| Box::new(Elementary::new(Codec::Mp3)),
                with_titles: Some(Self::IcyMp3),
                ..Self::Aac.row()
            },
            Self::IcyMp3 => Row {
                name: "icy-mp3",
                protocol: Protocol::Icy,
                make: |_, charset| Box::new(Icy::over_track(Codec::Mp3, charset)),
                with_titles: None,
                ..Self::Mp3.row()
            },
            Self::Opus => Row {
                name: "opus",
                label: "Opus",
                extension: Some(Extension::Ogg),
                media_type: "audio/ogg",
                opening: b"Og",
                needs: Needs::Sound,
                carries: Opus::carries,
                make: |_, _| Box::new(Opus::default()),
                ..USUAL
            },
        }
    }

    /// The form for a listener that asks for `extension`, or for the stream by its own name.
    pub fn choose(info: &Info, extension: Option<Extension>, wants_icy: bool) -> Choice<Self> {
        let container = info.source.container;
        let own = match container {
            Container::Ogg if info.settings.unchain => Self::Unchained,
            _ => Self::of_source(container, wants_icy),
        };
        match (extension, container) {
            (_, Container::Unknown) => Choice::Unclear,
            (None, Container::Tracks) => Choice::Take(Self::Flv),
            (None, _)
            | (Some(Extension::Aac), Container::Adts)
            | (Some(Extension::Mp3), Container::Mp3)
            | (Some(Extension::Ogg), Container::Ogg)
            | (Some(Extension::WebM), Container::WebM) => Choice::Take(own),
            (Some(extension), _) => {
                let mut forms = Self::ALL.into_iter();
                let form = forms.find(|form| form.row().extension == Some(extension));
                form.map_or(Choice::Impossible, |form| form.made_of(info, wants_icy))
            }
        }
    }

    /// Forms of a stream with `info` at addresses other than its own name, with their extensions.
    pub fn others(info: &Info) -> impl Iterator<Item = (Self, Extension)> {
        let listed = Self::ALL.into_iter().filter_map(|form| {
            let row = form.row();
            let extension = row.extension?;
            (row.protocol != Protocol::Icy).then_some((form, extension))
        });
        listed.filter(|(form, extension)| {
            Self::choose(info, Some(*extension), false) == Choice::Take(*form)
        })
    }

    fn of_source(container: Container, wants_icy: bool) -> Self {
        let has_titles = matches!(container, Container::Mp3 | Container::Adts);
        if wants_icy && has_titles {
            Self::Icy
        } else {
            Self::Source
        }
    }

    /// This form if the stream's tracks allow it, with titles in between if they are wanted.
    fn made_of(self, info: &Info, wants_icy: bool) -> Choice<Self> {
        let row = self.row();
        if !row.made_from.contains(&info.source.container) {
            return Choice::Impossible;
        }
        let form = row.with_titles.filter(|_| wants_icy).unwrap_or(self);
        let derived = match &info.offer {
            DerivedOffer::Track { track, .. } if self == Self::Opus => Some(track),
            _ => None,
        };
        let of_kind = |kind| info.tracks.iter().filter(move |track| track.kind == kind);
        let is_there = match row.needs {
            Needs::Nothing if info.source.container == Container::Tracks => true,
            Needs::Nothing => info.tracks.iter().any(|track| (row.carries)(track)),
            Needs::Sound => {
                let mut sounds = of_kind(Kind::Audio).chain(derived);
                sounds.any(|track| (row.carries)(track))
            }
            Needs::FirstOfEachKind => {
                let firsts = [Kind::Audio, Kind::Video].map(|kind| of_kind(kind).next());
                let mut firsts = firsts.into_iter().flatten();
                !info.tracks.is_empty() && firsts.all(|track| (row.carries)(track))
            }
        };
        let may_come = match row.needs {
            Needs::FirstOfEachKind => info.tracks.is_empty(),
            Needs::Nothing | Needs::Sound => of_kind(Kind::Audio).next().is_none(),
        };
        match (is_there, may_come) {
            (true, _) => Choice::Take(form),
            (false, true) => Choice::Unclear,
            (false, false) => Choice::Impossible,
        }
    }

    /// Its name, for people.
    pub const fn label(self) -> &'static str {
        self.row().label
    }

    /// The lane's key, how its listeners are counted, and how much of the past it keeps.
    pub const fn format(self) -> Format {
        let Row { name, protocol, .. } = self.row();
        Format {
            name,
            protocol,
            retention: Retention::Live,
        }
    }

    /// Whether titles stand between its frames, every [`METAINT`](crate::METAINT) bytes.
    pub fn has_titles(self) -> bool {
        self.row().protocol == Protocol::Icy
    }

    /// What makes the lane's bytes of a source in this container; titles are sent in that character set.
    pub fn packager(self, container: Container, charset: Charset) -> Box<dyn Packager> {
        (self.row().make)(container, charset)
    }

    /// The media type of the bytes. The source's word counts where no browser would show such bytes as a
    /// page, whose scripts would run with the rights of this server's own pages.
    pub fn media_type(self, info: &Info) -> Cow<'_, str> {
        let of_row = self.row().media_type;
        match self {
            Self::Mp4 => {
                let tracks = info.tracks.iter().map(|track| &**track);
                fmp4::media_type(tracks).map_or(Cow::Borrowed(of_row), Cow::Owned)
            }
            Self::Source | Self::Icy | Self::Unchained
                if is_harmless(&info.source.content_type) =>
            {
                Cow::Borrowed(&info.source.content_type)
            }
            Self::Source | Self::Icy | Self::Unchained => {
                Cow::Borrowed(match info.source.container {
                    Container::Mp3 => "audio/mpeg",
                    Container::Adts => "audio/aac",
                    Container::Ogg => "application/ogg",
                    Container::WebM => "video/webm",
                    _ => "application/octet-stream",
                })
            }
            _ => Cow::Borrowed(of_row),
        }
    }

    /// The first two bytes that every stream of this form begins with; empty where they are not known.
    pub const fn opening(self, container: Container) -> &'static [u8] {
        match (self, container) {
            (Self::Source | Self::Icy, Container::Adts) => b"\xFF\xF1",
            (Self::Source | Self::Icy, Container::Mp3) => b"\xFF\xFB",
            (Self::Source | Self::Icy | Self::Unchained, Container::Ogg) => b"Og",
            (Self::Source | Self::Icy, Container::WebM) => b"\x1A\x45",
            _ => self.row().opening,
        }
    }
}

/// What stands in the names of `application/…` types that browsers show as documents or run.
const SHOWN_OR_RUN: [&str; 7] = ["html", "xml", "script", "pdf", "wasm", "flash", "java"];

/// Whether browsers take a media type for sound, for moving pictures, or for a file.
///
/// Its subtype may have no `+`: browsers render all types that end in `+xml` as documents. Nor may there be a
/// comma anywhere, where several types stand in one header and the last counts (Fetch §2.2.3).
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
