//! Forms of a stream for HTTP listeners: the table of formats.

use std::borrow::Cow;

use container::{flv, fmp4, ts};
use fanout::{Choice, DerivedOffer, Format, Info, Packager, Protocol, Retention};
use media::{Charset, Codec, Container, Kind, Track};

use crate::{Elementary, Flv, Icy, Mp4, Opus, Raw, Ts};

/// Wire format of HTTP listeners.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// Container of the source, unchanged.
    Source,
    /// Container of the source with titles in between.
    Icy,
    /// Ogg of the source as one logical stream.
    Unchained,
    /// FLV.
    Flv,
    /// Fragmented MP4.
    Mp4,
    /// MPEG transport stream.
    Ts,
    /// AAC track of a stream of tracks.
    Aac,
    /// AAC track with titles in between.
    IcyAac,
    /// MP3 track of a stream of tracks.
    Mp3,
    /// MP3 track with titles in between.
    IcyMp3,
    /// Opus in Ogg: the track of an RTMP or WebRTC stream, or derived from other audio.
    Opus,
}

/// Container requested by the extension of an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Extension {
    /// FLV.
    Flv,
    /// AAC in ADTS.
    Aac,
    /// MP3.
    Mp3,
    /// Ogg, with the source's own codecs or with Opus.
    Ogg,
    /// WebM.
    WebM,
    /// MPEG transport stream.
    Ts,
    /// Fragmented MP4.
    Mp4,
}

impl Extension {
    /// All extensions, in the order in which addresses are checked.
    pub const ALL: [Self; 7] = [
        Self::Flv,
        Self::Aac,
        Self::Mp3,
        Self::Ogg,
        Self::WebM,
        Self::Ts,
        Self::Mp4,
    ];

    /// Returns the extension with its dot.
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

/// Properties of a form: its sources and its packager.
struct Row {
    /// Key of the lane.
    name: &'static str,
    /// Protocol under which its listeners are counted.
    protocol: Protocol,
    /// Name for people.
    label: &'static str,
    /// Extension of its address; `None` for the stream's own name.
    extension: Option<Extension>,
    media_type: &'static str,
    /// First two bytes of every stream of this form; empty if they differ.
    opening: &'static [u8],
    /// Publishers' containers that it can be made from.
    made_from: &'static [Container],
    /// Tracks that it needs.
    needs: Needs,
    /// Predicate of the tracks it can carry.
    carries: fn(&Track) -> bool,
    make: fn(Container, Charset) -> Box<dyn Packager>,
    /// This form with titles in between.
    with_titles: Option<Form>,
}

/// Tracks that must be carried for a form to be available.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Needs {
    /// Any tracks; none is waited for.
    Nothing,
    /// One audio track.
    Audio,
    /// First track of each kind that exists.
    FirstOfEachKind,
}

/// Containers of publishers whose tracks are known sample by sample.
const FRAMED: &[Container] = &[Container::Tracks, Container::Mp3, Container::Adts];

/// Default values of a row.
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
    /// All forms, in the order in which a stream's addresses are listed.
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

    /// Returns the row of the table.
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
                needs: Needs::Audio,
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
                needs: Needs::Audio,
                carries: Opus::carries,
                make: |_, _| Box::new(Opus::default()),
                ..USUAL
            },
        }
    }

    /// Chooses the form for a listener that requests `extension`, or the stream by its own name.
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

    /// Returns the forms of a stream with `info` at addresses other than its own name, with their extensions.
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

    /// Returns this form if the stream's tracks allow it, with titles in between if they are requested.
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
            Needs::Audio => {
                let mut audio_frames = of_kind(Kind::Audio).chain(derived);
                audio_frames.any(|track| (row.carries)(track))
            }
            Needs::FirstOfEachKind => {
                let firsts = [Kind::Audio, Kind::Video].map(|kind| of_kind(kind).next());
                let mut firsts = firsts.into_iter().flatten();
                !info.tracks.is_empty() && firsts.all(|track| (row.carries)(track))
            }
        };
        let may_come = match row.needs {
            Needs::FirstOfEachKind => info.tracks.is_empty(),
            Needs::Nothing | Needs::Audio => of_kind(Kind::Audio).next().is_none(),
        };
        match (is_there, may_come) {
            (true, _) => Choice::Take(form),
            (false, true) => Choice::Unclear,
            (false, false) => Choice::Impossible,
        }
    }

    /// Returns the name for people.
    pub const fn label(self) -> &'static str {
        self.row().label
    }

    /// Returns the lane's format: its key, the protocol under which listeners are counted, and the amount of past media it
    /// keeps.
    pub const fn format(self) -> Format {
        let Row { name, protocol, .. } = self.row();
        Format {
            name,
            protocol,
            retention: Retention::Live,
        }
    }

    /// Whether titles are inserted between its frames, every [`METAINT`](crate::METAINT) bytes.
    pub fn has_titles(self) -> bool {
        self.row().protocol == Protocol::Icy
    }

    /// Creates the packager of the lane for a source in this container; titles are sent in that character set.
    pub fn packager(self, container: Container, charset: Charset) -> Box<dyn Packager> {
        (self.row().make)(container, charset)
    }

    /// Returns the media type of the bytes. The source's own type is used if no browser would show such bytes as a page, whose
    /// scripts would run with the rights of this server's own pages.
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

    /// Returns the first two bytes of every stream of this form; empty if they are not known.
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

/// Words in the names of `application/…` types that browsers show as documents or run.
const SHOWN_OR_RUN: [&str; 7] = ["html", "xml", "script", "pdf", "wasm", "flash", "java"];

/// Whether browsers treat a media type as audio, video or a file.
///
/// Its subtype must not contain a `+`, because browsers render all types that end in `+xml` as documents. The type must not
/// contain a comma either, because several types may be in one header, of which the last counts (Fetch §2.2.3).
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
    fn only_audio_and_pictures_are_what_the_source_calls_them() {
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
