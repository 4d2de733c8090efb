//! Forms of a long body: items of recordings, in the form that the address of a live stream requests.
//!
//! Items before the first place where a player can start are omitted, as for listeners who join.

use bytes::{Bytes, BytesMut};
use container::adts;
use container::flv::{self, Opening, Selection, Tag};
use container::fmp4::{self, Unit};
use container::ts::{self, PACKET_BYTES};
use container::{ogg, webm};
use media::{Codec, Item, Kind, Span, Timestamp, Track, TrackId};
use packagers::Extension;
use recordings::Container;

use super::reader::is_bare;

/// Duration of a fragment of `.mp4`; the media sent at once is longer.
const FRAGMENT: Span = Span::from_millis(500);

/// Form of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Flv,
    Mp4,
    Ts,
    Aac,
    Mp3,
    /// Ogg pages as they were recorded.
    Ogg,
    /// WebM clusters as they were recorded.
    WebM,
}

impl Form {
    /// Returns the form for an extension, or for the stream's own name, if the stream is recorded in this container;
    /// `None` if the form cannot be made.
    pub(super) const fn of(extension: Option<Extension>, recorded: Container) -> Option<Self> {
        let form = match (extension, recorded) {
            (None, Container::Mp3) => Self::Mp3,
            (None | Some(Extension::Ogg), Container::Ogg) => Self::Ogg,
            (None | Some(Extension::WebM), Container::WebM) => Self::WebM,
            (None | Some(Extension::Flv), _) => Self::Flv,
            (Some(Extension::Mp4), _) => Self::Mp4,
            (Some(Extension::Ts), _) => Self::Ts,
            (Some(Extension::Aac), _) => Self::Aac,
            (Some(Extension::Mp3), _) => Self::Mp3,
            (Some(Extension::Ogg | Extension::WebM), _) => return None,
        };
        match form.is_of(recorded) {
            true => Some(form),
            false => None,
        }
    }

    /// Returns whether it is made from recordings in a container.
    pub(super) const fn is_of(self, recorded: Container) -> bool {
        match self {
            Self::Flv | Self::Mp4 | Self::Ts | Self::Aac | Self::Mp3 => is_bare(recorded),
            Self::Ogg => matches!(recorded, Container::Ogg),
            Self::WebM => matches!(recorded, Container::WebM),
        }
    }

    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Flv => "video/x-flv",
            Self::Mp4 => "video/mp4",
            Self::Ts => ts::MEDIA_TYPE,
            Self::Aac => "audio/aac",
            Self::Mp3 => "audio/mpeg",
            Self::Ogg => "audio/ogg",
            Self::WebM => "video/webm",
        }
    }

    /// Returns whether it carries all of these tracks; a form of audio alone needs to carry the audio only.
    pub(super) fn carries<'a>(self, mut tracks: impl Iterator<Item = &'a Track>) -> bool {
        let is_heard = |track: &Track, codec| track.kind == Kind::Audio && track.codec == codec;
        match self {
            Self::Flv => tracks.all(flv::can_mux),
            Self::Mp4 => tracks.all(fmp4::can_mux),
            Self::Ts => tracks.all(ts::can_mux),
            Self::Aac => tracks.any(|track| is_heard(track, Codec::Aac)),
            Self::Mp3 => tracks.any(|track| is_heard(track, Codec::Mp3)),
            Self::Ogg | Self::WebM => true,
        }
    }
}

/// Writer of a body: [`push`](Self::push) items, then [`take`](Self::take) the bytes.
#[derive(Debug)]
pub(super) struct Writer {
    muxer: Muxer,
    out: Out,
}

#[derive(Debug)]
enum Muxer {
    Flv(Box<flv::Muxer<Bytes>>),
    Mp4(Box<fmp4::Muxer<Bytes>>),
    Ts(Box<ts::Muxer>),
    /// Frames of the track with this codec; AAC frames are preceded by a header each.
    Frames(Codec, Option<(TrackId, Option<adts::Writer>)>),
    Ogg(Box<ogg::file::Splice>),
    WebM(Box<webm::file::Splice>),
}

/// Output of the muxers.
#[derive(Debug, Default)]
struct Out {
    whole: BytesMut,
    /// Open unit.
    unit: BytesMut,
    has_begun: bool,
}

impl Writer {
    pub(super) fn new(form: Form) -> Self {
        let muxer = match form {
            Form::Flv => Muxer::Flv(Box::new(flv::Muxer::new(Selection::ALL))),
            Form::Mp4 => Muxer::Mp4(Box::new(fmp4::Muxer::new(FRAGMENT))),
            Form::Ts => Muxer::Ts(Box::default()),
            Form::Aac => Muxer::Frames(Codec::Aac, None),
            Form::Mp3 => Muxer::Frames(Codec::Mp3, None),
            Form::Ogg => Muxer::Ogg(Box::default()),
            Form::WebM => Muxer::WebM(Box::default()),
        };
        Self {
            muxer,
            out: Out::default(),
        }
    }

    pub(super) fn push(&mut self, item: &Item) {
        let out = &mut self.out;
        match &mut self.muxer {
            Muxer::Flv(muxer) => muxer.push(item, out),
            Muxer::Mp4(muxer) => muxer.push(item, out),
            Muxer::Ts(muxer) => muxer.push(item, out),
            Muxer::Frames(codec, heard) => frames(*codec, heard, item, &mut out.whole),
            Muxer::Ogg(splice) => match item {
                Item::Header(header) => out.whole.extend_from_slice(&splice.header(header)),
                Item::Sample(page) => out.whole.extend_from_slice(&splice.pages(&page.data)),
                _ => {}
            },
            Muxer::WebM(splice) => match item {
                Item::Header(header) => out.whole.extend_from_slice(&splice.header(header)),
                Item::Sample(sample) => out.whole.extend_from_slice(&splice.sample(sample)),
                _ => {}
            },
        }
    }

    /// Returns whether media that begins with these items can continue here.
    pub(super) fn takes(&self, opening: &[Item]) -> bool {
        let mut headers = opening.iter().filter_map(|item| match item {
            Item::Header(header) => Some(header),
            _ => None,
        });
        match &self.muxer {
            Muxer::WebM(splice) => headers.all(|header| splice.takes(header)),
            _ => true,
        }
    }

    /// Writes everything held back, because nothing follows soon, or different media does.
    pub(super) fn flush(&mut self) {
        match &mut self.muxer {
            Muxer::Mp4(muxer) => muxer.finish(&mut self.out),
            Muxer::Ts(muxer) => muxer.flush(&mut self.out),
            Muxer::Flv(_) | Muxer::Frames(..) | Muxer::Ogg(_) | Muxer::WebM(_) => {}
        }
    }

    /// Ends the body.
    pub(super) fn finish(&mut self) {
        self.flush();
        if let Muxer::Ogg(splice) = &mut self.muxer {
            self.out.whole.extend_from_slice(&splice.end());
        }
    }

    /// Takes the bytes written since the last call.
    pub(super) fn take(&mut self) -> Bytes {
        self.out.whole.split().freeze()
    }

    /// Returns the number of bytes written since the last [`take`](Self::take).
    pub(super) fn len(&self) -> usize {
        self.out.whole.len()
    }
}

fn frames(
    codec: Codec,
    heard: &mut Option<(TrackId, Option<adts::Writer>)>,
    item: &Item,
    out: &mut BytesMut,
) {
    match item {
        Item::Track(track) if track.kind == Kind::Audio => {
            let writer = adts::Writer::new(&track.config).filter(|_| codec == Codec::Aac);
            let is_heard = track.codec == codec && (writer.is_some() || codec == Codec::Mp3);
            *heard = is_heard.then_some((track.id, writer));
        }
        Item::Sample(sample) => {
            let Some((_, writer)) = heard.as_ref().filter(|(id, _)| *id == sample.track) else {
                return;
            };
            match writer
                .as_ref()
                .map(|writer| writer.header(sample.data.len()))
            {
                Some(Some(header)) => out.extend_from_slice(&header),
                // No real audio frame is that long.
                Some(None) => return,
                None => {}
            }
            out.extend_from_slice(&sample.data);
        }
        _ => {}
    }
}

impl Out {
    /// Ends the open unit. Players begin with a unit that has a preamble, even an empty one.
    fn end_unit(&mut self, preamble: Option<&[u8]>) {
        if let Some(preamble) = preamble.filter(|_| !self.has_begun) {
            self.whole.extend_from_slice(preamble);
            self.has_begun = true;
        }
        match self.has_begun {
            true if self.whole.is_empty() => std::mem::swap(&mut self.whole, &mut self.unit),
            true => {
                self.whole.extend_from_slice(&self.unit);
                self.unit.clear();
            }
            false => self.unit.clear(),
        }
    }
}

impl flv::TagSink for Out {
    type Preamble = Bytes;

    fn tag(&mut self, tag: &Tag<'_>) {
        tag.write(&mut |bytes| self.unit.extend_from_slice(bytes));
    }

    fn preamble(&mut self, opening: &Opening<'_>) -> Bytes {
        let header = flv::file_header(opening.has(Kind::Audio), opening.has(Kind::Video));
        let mut bytes = header.to_vec();
        opening.tags(&mut |tag| tag.write(&mut |part| bytes.extend_from_slice(part)));
        bytes.into()
    }

    fn end_unit(&mut self, _at: Timestamp, join: Option<Bytes>) {
        Self::end_unit(self, join.as_deref());
    }
}

impl fmp4::FragmentSink for Out {
    type Preamble = Bytes;

    fn put(&mut self, bytes: &[u8]) {
        self.unit.extend_from_slice(bytes);
    }

    fn preamble(&mut self, init: &fmp4::Init) -> Bytes {
        init.bytes.clone()
    }

    fn end_unit(&mut self, _unit: Unit, join: Option<Bytes>) {
        Self::end_unit(self, join.as_deref());
    }
}

impl ts::PacketSink for Out {
    fn packet(&mut self, packet: &[u8; PACKET_BYTES]) {
        self.unit.extend_from_slice(packet);
    }

    fn end_unit(&mut self, _at: Timestamp, is_join: bool) {
        Self::end_unit(self, is_join.then_some(&[][..]));
    }
}
