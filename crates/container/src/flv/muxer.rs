//! Conversion of items to tags: decides which are carried, where listeners may join, and what joiners are sent first.
//!
//! ```text
//! opening: onMetaData │ sequence headers        units: tag │ tag │ tag …
//!                                                           └ join: a keyframe
//! ```
//!
//! HTTP listeners and RTMP players get the same tags. Only the framing differs, which is up to the [`TagSink`]. A muxer is
//! pure: it copies nothing but the reference to the metadata, and allocates nothing per sample.

use bytes::Bytes;
use media::codec::aac::AdtsHeader;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

use super::event;
use super::tag::{self, Tag, TagKind};
use crate::joins::Joins;

/// Upper bound on the tracks carried: as many as a stream announces.
const TRACKS_MAX: usize = 16;

/// Time for which audio frames share a preamble. Its tags are stamped with the time at which the preamble was made, so
/// a joiner gets timestamps at most this much before its first frame, and no frame costs an allocation.
const PREAMBLE_SHARED_FOR: Span = Span::from_millis(1_000);

/// Output of a muxer: the framing of one wire format, and its log.
pub trait TagSink {
    /// [`Opening`] in the form that joiners receive. Clones share its memory.
    type Preamble: Clone;

    /// Appends a tag to the open unit.
    fn tag(&mut self, tag: &Tag<'_>);

    /// Frames the data that a joiner needs first.
    fn preamble(&mut self, opening: &Opening<'_>) -> Self::Preamble;

    /// Ends the open unit, whose time is `at`; with `join`, a listener may start at it.
    fn end_unit(&mut self, at: Timestamp, join: Option<Self::Preamble>);
}

/// Kinds of track that are carried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Selection {
    /// Audio tracks are carried.
    pub audio: bool,
    /// Video tracks are carried.
    pub video: bool,
}

impl Selection {
    /// Selection of all kinds.
    pub const ALL: Self = Self {
        audio: true,
        video: true,
    };

    fn includes(self, kind: Kind) -> bool {
        match kind {
            Kind::Audio => self.audio,
            Kind::Video => self.video,
        }
    }
}

/// Muxer of a stream's items into tags; call [`push`](Self::push) for each item.
///
/// If there is video, listeners join at keyframes of the first video track; else at every audio frame. Nothing is
/// written before the first join point, because no listener could decode it.
///
/// `P` is the [`TagSink::Preamble`] of the sink that is written to.
#[derive(Debug)]
pub struct Muxer<P> {
    selection: Selection,
    tracks: Vec<Carried>,
    metadata: Option<Bytes>,
    /// Counter that changes with the tracks and the metadata.
    generation: u32,
    /// Last preamble of this generation, and the time on its tags.
    preamble: Option<(Timestamp, P)>,
    /// Time of the latest unit; never decreases, although the tracks' times interleave.
    at: Timestamp,
    joins: Joins,
    has_begun: bool,
}

/// Track in the form that FLV carries.
#[derive(Debug, Eq, PartialEq)]
struct Carried {
    track: Track,
    /// Samples begin with an ADTS header, which FLV cannot carry.
    is_adts: bool,
}

/// Data that a joiner needs before its first unit.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// Time of the unit that the opening precedes.
    at: Timestamp,
    generation: u32,
    metadata: Option<&'a Bytes>,
    tracks: &'a [Carried],
    joins: &'a Joins,
}

impl<P: Clone> Muxer<P> {
    /// Creates a muxer for a new stream, without tracks.
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            tracks: Vec::new(),
            metadata: None,
            generation: 0,
            preamble: None,
            at: Timestamp::ZERO,
            joins: Joins::default(),
            has_begun: false,
        }
    }

    /// Appends the tags of `item`.
    pub fn push(&mut self, item: &Item, sink: &mut impl TagSink<Preamble = P>) {
        match item {
            Item::Track(track) => self.track(track, sink),
            Item::Metadata(script) => self.metadata(&script.body, sink),
            Item::Script(script) => self.script(TagKind::Script, script.at, &script.body, sink),
            Item::Sample(sample) => self.sample(sample, sink),
            Item::Epoch => self.begin_epoch(),
            // The publisher's own message carries this event.
            Item::Event(event) if event.is_scripted => {}
            Item::Event(event) => {
                self.script(TagKind::Script, event.at, &event::body(event), sink);
            }
            Item::Header(_) | Item::Title(_) => {}
        }
    }

    fn track(&mut self, track: &Track, sink: &mut impl TagSink<Preamble = P>) {
        let known = self.tracks.iter().position(|c| c.track.id == track.id);
        let carried = Carried::new(track).filter(|_| self.selection.includes(track.kind));
        let (index, old) = match (carried, known) {
            (Some(carried), Some(index)) if self.tracks[index] == carried => return,
            (Some(carried), Some(index)) => {
                let old = std::mem::replace(&mut self.tracks[index], carried);
                (Some(index), Some(old))
            }
            (Some(carried), None) if self.tracks.len() < TRACKS_MAX => {
                self.tracks.push(carried);
                (Some(self.tracks.len() - 1), None)
            }
            (None, Some(index)) => (None, Some(self.tracks.remove(index))),
            _ => return,
        };
        self.renew();
        if let Some(index) = index.filter(|_| self.has_begun) {
            self.tracks[index].write_news(old.as_ref(), self.at, sink);
        }
    }

    /// Begins an epoch, since the next publisher announces its own tracks. Joiners wait for its video, if it has any,
    /// and for nothing of the previous publisher.
    fn begin_epoch(&mut self) {
        self.tracks.clear();
        self.metadata = None;
        self.joins = Joins::default();
        self.renew();
    }

    fn metadata(&mut self, body: &Bytes, sink: &mut impl TagSink<Preamble = P>) {
        if self.metadata.as_ref() == Some(body) {
            return;
        }
        self.metadata = Some(body.clone());
        // A muxer does not wait for video that is not selected.
        if self.selection.video {
            self.joins.metadata(body);
        }
        self.renew();
        // The metadata describes what follows, whatever time the publisher gave it; most use zero.
        self.script(TagKind::Metadata, self.at, body, sink);
    }

    fn script(
        &self,
        kind: TagKind,
        at: Timestamp,
        body: &Bytes,
        sink: &mut impl TagSink<Preamble = P>,
    ) {
        let tag = Tag::script(kind, at, body).filter(|_| self.has_begun && !body.is_empty());
        if let Some(tag) = tag {
            sink.tag(&tag);
            sink.end_unit(self.at, None);
        }
    }

    fn sample(&mut self, sample: &Sample, sink: &mut impl TagSink<Preamble = P>) {
        let mut tracks = self.tracks.iter();
        let Some(carried) = tracks.find(|c| c.track.id == sample.track) else {
            return;
        };
        let Some(payload) = carried.payload(sample) else {
            return;
        };
        let kind = carried.track.kind;
        let tag = Tag::with_payload(&carried.track, sample, payload);
        self.at = self.at.max(sample.dts);
        let may_join = self.may_join(kind, sample);
        self.has_begun |= may_join;
        if let Some(tag) = tag.filter(|_| self.has_begun) {
            sink.tag(&tag);
            let join = may_join.then(|| self.preamble(kind, sample.dts, sink));
            sink.end_unit(self.at, join);
        }
    }

    fn may_join(&mut self, kind: Kind, sample: &Sample) -> bool {
        match (kind, self.picture_track()) {
            (Kind::Video, Some(track)) if track == sample.track => {
                self.joins.picture(self.at);
                sample.keyframe
            }
            (Kind::Video, _) => false,
            (Kind::Audio, pictures) => {
                let may_join = self.joins.at_audio(self.at, pictures.is_some());
                may_join && sample.keyframe
            }
        }
    }

    fn picture_track(&self) -> Option<TrackId> {
        let mut tracks = self.tracks.iter().map(|carried| &carried.track);
        tracks
            .find(|track| track.kind == Kind::Video)
            .map(|track| track.id)
    }

    /// Returns the preamble for a unit at `at`: newly made for a video frame, possibly shared for audio.
    fn preamble(&mut self, kind: Kind, at: Timestamp, sink: &mut impl TagSink<Preamble = P>) -> P {
        if let Some((made_at, preamble)) = &self.preamble
            && kind == Kind::Audio
            && (Span::ZERO..PREAMBLE_SHARED_FOR).contains(&(at - *made_at))
        {
            return preamble.clone();
        }
        let preamble = sink.preamble(&Opening {
            at,
            generation: self.generation,
            metadata: self.metadata.as_ref(),
            tracks: &self.tracks,
            joins: &self.joins,
        });
        self.preamble = Some((at, preamble.clone()));
        preamble
    }

    fn renew(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.preamble = None;
    }
}

impl Opening<'_> {
    /// Returns a number that changes with the metadata and the sequence headers.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns whether the stream has a track of `kind`, or announces one.
    pub fn has(&self, kind: Kind) -> bool {
        self.tracks.iter().any(|c| c.track.kind == kind) || self.joins.announces(kind)
    }

    /// Emits the metadata and the sequence headers. The headers are stamped with the time of the join, the metadata
    /// with 0: with any other time, ffmpeg takes the metadata for a track of its own.
    pub fn tags(&self, emit: &mut impl FnMut(&Tag<'_>)) {
        let metadata = self
            .metadata
            .and_then(|body| Tag::script(TagKind::Metadata, Timestamp::ZERO, body));
        if let Some(tag) = metadata {
            emit(&tag);
        }
        for carried in self.tracks {
            for tag in Tag::headers(&carried.track, self.at) {
                emit(&tag);
            }
        }
    }
}

impl Carried {
    fn new(track: &Track) -> Option<Self> {
        let is_whole = tag::carries(track);
        let is_framed = track.codec == Codec::Aac && track.framing == Framing::SelfFramed;
        let is_adts = !is_whole && is_framed && !track.config.is_empty();
        let mut track = track.clone();
        if is_adts {
            track.framing = Framing::Bare;
        }
        (is_whole || is_adts).then_some(Self { track, is_adts })
    }

    /// Writes the headers that listeners of the `old` track lack.
    fn write_news(&self, old: Option<&Self>, at: Timestamp, sink: &mut impl TagSink) {
        for tag in Tag::headers(&self.track, at) {
            let mut had = old.into_iter().flat_map(|old| Tag::headers(&old.track, at));
            if !had.any(|had| had.parts() == tag.parts()) {
                sink.tag(&tag);
                sink.end_unit(at, None);
            }
        }
    }

    /// Returns the sample's bytes as a tag holds them; `None` for an ADTS frame of more than one access unit, which a
    /// tag cannot hold.
    fn payload<'a>(&self, sample: &'a Sample) -> Option<&'a [u8]> {
        if !self.is_adts {
            return Some(&sample.data);
        }
        let header = AdtsHeader::parse(&sample.data).filter(|header| header.blocks == 1)?;
        sample.data.get(header.header_bytes..)
    }
}

/// Returns whether a [`Muxer`] can carry `track`: what FLV [`carries`](super::carries), and AAC in ADTS frames.
pub fn can_mux(track: &Track) -> bool {
    Carried::new(track).is_some()
}
