//! FLV, from the tracks of an RTMP stream or from MP3 and ADTS.
//!
//! ```text
//! preamble: file header │ onMetaData │ sequence headers        log: tag │ tag │ tag …
//!                       └ a listener who skips resumes here          └ join: a keyframe
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use container::flv;
use fanout::{Entry, Packager, Preamble, Sink};
use media::codec::aac::AdtsHeader;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

/// Tracks carried at the most: as many as a stream announces.
const TRACKS_MAX: usize = 16;

/// Frames of sound share a preamble for this long. Its tags are stamped with the time it was made,
/// so a joiner sees them at most this much before its first frame, and no frame costs an allocation.
const PREAMBLE_SHARED_FOR: Span = Span::from_millis(1_000);

/// How long sound waits for a picture that the metadata announces. Publishers send both within the
/// first packets.
const VIDEO_AWAITED: Span = Span::from_millis(2_000);

/// A picture track that has been silent for this long does not hold joiners up any more: the
/// publisher switched the camera off, or the next one has none.
const VIDEO_SILENT_MAX: Span = Span::from_millis(10_000);

/// Keys of `onMetaData` that only a stream with pictures has.
const VIDEO_KEYS: [&[u8]; 2] = [b"videocodecid", b"width"];

/// Writes FLV tags.
///
/// Where there are pictures, listeners join at keyframes of the first picture track; else at every
/// frame of sound. Nothing is written before the first join point, because nobody could read it.
#[derive(Debug, Default)]
pub(crate) struct Flv {
    tracks: Vec<Carried>,
    metadata: Option<Bytes>,
    /// Changes with the tracks and the metadata.
    generation: u32,
    /// The last preamble of this generation, and the time its tags are stamped with.
    preamble: Option<(Timestamp, Arc<Preamble>)>,
    /// The time of the latest unit; it never goes back, although the tracks' times interleave.
    at: Timestamp,
    first_sample: Option<Timestamp>,
    last_picture: Option<Timestamp>,
    has_begun: bool,
}

/// A track as FLV carries it.
#[derive(Debug, Eq, PartialEq)]
struct Carried {
    track: Track,
    /// Its samples begin with an ADTS header, which FLV has no place for.
    is_adts: bool,
}

impl Flv {
    /// Whether FLV can carry `track`.
    pub(crate) fn carries(track: &Track) -> bool {
        Carried::new(track).is_some()
    }

    fn track(&mut self, track: &Track, sink: &mut Sink<'_>) {
        let known = self.tracks.iter().position(|c| c.track.id == track.id);
        match (Carried::new(track), known) {
            (Some(carried), Some(index)) if self.tracks[index] == carried => return,
            (Some(carried), Some(index)) => self.tracks[index] = carried,
            (Some(carried), None) if self.tracks.len() < TRACKS_MAX => self.tracks.push(carried),
            (None, Some(index)) => {
                self.tracks.remove(index);
            }
            _ => return,
        }
        self.renew();
        let carried = self.tracks.iter().find(|c| c.track.id == track.id);
        if let Some(carried) = carried.filter(|_| self.has_begun) {
            flv::write_sequence_header(&carried.track, self.at, &mut |bytes| sink.put(bytes));
            sink.end_unit(self.at, Entry::None);
        }
    }

    fn metadata(&mut self, body: &Bytes, sink: &mut Sink<'_>) {
        if self.metadata.as_ref() == Some(body) {
            return;
        }
        self.metadata = Some(body.clone());
        self.renew();
        self.script(body, sink);
    }

    fn script(&self, body: &Bytes, sink: &mut Sink<'_>) {
        if self.has_begun {
            flv::write_script(self.at, body, &mut |bytes| sink.put(bytes));
            sink.end_unit(self.at, Entry::None);
        }
    }

    fn sample(&mut self, sample: &Sample, sink: &mut Sink<'_>) {
        let Some(index) = self.tracks.iter().position(|c| c.track.id == sample.track) else {
            return;
        };
        let Some(sample) = self.tracks[index].payload(sample) else {
            return;
        };
        self.at = self.at.max(sample.dts);
        let entry = self.entry(self.tracks[index].track.kind, &sample);
        self.has_begun |= matches!(entry, Entry::Join(_));
        if self.has_begun {
            let track = &self.tracks[index].track;
            flv::write_sample(track, &sample, &mut |bytes| sink.put(bytes));
            sink.end_unit(self.at, entry);
        }
    }

    fn entry(&mut self, kind: Kind, sample: &Sample) -> Entry {
        let may_join = match (kind, self.picture_track()) {
            (Kind::Video, Some(track)) if track == sample.track => {
                self.last_picture = Some(self.at);
                sample.keyframe
            }
            (Kind::Video, _) => false,
            (Kind::Audio, Some(_)) => {
                let last = *self.last_picture.get_or_insert(self.at);
                self.at - last >= VIDEO_SILENT_MAX
            }
            (Kind::Audio, None) => {
                let first = *self.first_sample.get_or_insert(self.at);
                self.at - first >= VIDEO_AWAITED || !self.announces_pictures()
            }
        };
        if may_join {
            Entry::Join(self.preamble(kind, sample.dts))
        } else {
            Entry::None
        }
    }

    fn picture_track(&self) -> Option<TrackId> {
        let mut tracks = self.tracks.iter().map(|carried| &carried.track);
        tracks
            .find(|track| track.kind == Kind::Video)
            .map(|track| track.id)
    }

    fn announces_pictures(&self) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| {
            let mut keys = VIDEO_KEYS.iter();
            keys.any(|key| metadata.windows(key.len()).any(|window| window == *key))
        })
    }

    /// The preamble for a unit at `at`: for a picture made for it, for sound perhaps shared.
    fn preamble(&mut self, kind: Kind, at: Timestamp) -> Arc<Preamble> {
        if let Some((made_at, preamble)) = &self.preamble
            && kind == Kind::Audio
            && (Span::ZERO..PREAMBLE_SHARED_FOR).contains(&(at - *made_at))
        {
            return Arc::clone(preamble);
        }
        let has = |kind| self.tracks.iter().any(|c| c.track.kind == kind);
        let mut bytes = flv::file_header(has(Kind::Audio), has(Kind::Video)).to_vec();
        let mut put = |part: &[u8]| bytes.extend_from_slice(part);
        if let Some(metadata) = &self.metadata {
            flv::write_script(at, metadata, &mut put);
        }
        for carried in &self.tracks {
            flv::write_sequence_header(&carried.track, at, &mut put);
        }
        let preamble = Arc::new(Preamble {
            bytes: bytes.into(),
            resume_from: flv::FILE_HEADER_BYTES,
            generation: self.generation,
        });
        self.preamble = Some((at, Arc::clone(&preamble)));
        preamble
    }

    fn renew(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.preamble = None;
    }
}

impl Carried {
    fn new(track: &Track) -> Option<Self> {
        if flv::carries(track) {
            let track = track.clone();
            return Some(Self {
                track,
                is_adts: false,
            });
        }
        let is_adts = track.codec == Codec::Aac && track.framing == Framing::SelfFramed;
        let has_config = !track.config.is_empty();
        (is_adts && has_config).then(|| Self {
            track: Track {
                framing: Framing::Bare,
                ..track.clone()
            },
            is_adts,
        })
    }

    /// The sample as a tag holds it; `None` for an ADTS frame of more than one access unit, for
    /// which a tag has no room.
    fn payload<'a>(&self, sample: &'a Sample) -> Option<Cow<'a, Sample>> {
        if !self.is_adts {
            return Some(Cow::Borrowed(sample));
        }
        let header = AdtsHeader::parse(&sample.data).filter(|header| header.blocks == 1)?;
        let data = sample.data.get(header.header_bytes..)?;
        Some(Cow::Owned(Sample {
            data: sample.data.slice_ref(data),
            ..sample.clone()
        }))
    }
}

impl Packager for Flv {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        match item {
            Item::Track(track) => self.track(track, sink),
            Item::Metadata(script) => self.metadata(&script.body, sink),
            Item::Script(script) => self.script(&script.body, sink),
            Item::Sample(sample) => self.sample(sample, sink),
            Item::Header(_) | Item::Title(_) => {}
        }
    }
}
