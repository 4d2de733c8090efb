//! Conversion of tag bodies to items.
//!
//! Samples are the codec's own bytes, without their framing. H.264, AAC, MP3, and Opus of one or two channels need no
//! more, however they were announced, as long as their samples hold all that the bodies did. Every other track also
//! keeps its bodies ([`Track::flv`]), for FLV listeners. Nothing a publisher sends is an error here: bodies without
//! media are skipped, unknown ones relayed.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use media::codec::aac::AudioSpecificConfig;
use media::codec::mpeg_audio::FrameHeader;
use media::codec::opus;
use media::{Codec, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

use super::body::{Body, Packet, WireTrack};
use super::codec::{CodecTag, kept_track, mp3_track, plain_track};
use super::{multitrack, whole};

/// Upper bound on the numbered tracks of one kind that are distinguished. Multitrack publishers send a handful of
/// renditions; each track costs its sequence header in memory.
pub const WIRE_TRACKS_MAX: u8 = 16;

/// Upper bound on the bytes of a sequence header that is kept. Real ones have tens of bytes, or a few hundred with many
/// parameter sets.
pub const CONFIG_BYTES_MAX: usize = 64 * 1024;

/// Lowest composition time of a video frame, in milliseconds: beyond the reordering of any encoder. It matters only to
/// muxers of other containers, which delay video by as much.
const COMPOSITION_MILLIS_MIN: i32 = -10_000;

/// Converter of RTMP audio and video message bodies, or FLV tag bodies, into items.
///
/// The first audio and video tracks are [`TrackId::AUDIO`] and [`TrackId::VIDEO`]; track `n` of a multitrack publisher
/// is `2n` (audio) or `2n + 1` (video). A body with sequence headers of several tracks is split, so that each track has
/// its own; a body with media of several tracks stays whole and counts as the first track's. Numbers beyond
/// [`WIRE_TRACKS_MAX`] share a track.
#[derive(Debug, Default)]
pub struct Depacketizer {
    slots: Vec<Slot>,
}

/// State of one track.
#[derive(Debug)]
struct Slot {
    track: Arc<Track>,
    codec: CodecTag,
    /// Bodies have arrived that hold more than samples do.
    must_be_kept: bool,
}

/// Body of one track, and the range of the codec's own bytes in it.
struct Arrival {
    id: TrackId,
    kind: Kind,
    at: Timestamp,
    parsed: Body,
    body: Bytes,
    coded: Range<usize>,
}

impl Depacketizer {
    /// Takes an audio body that arrived for `at`, and appends its items to `out`.
    pub fn audio(&mut self, at: Timestamp, body: Bytes, out: &mut Vec<Item>) {
        self.take(Kind::Audio, at, body, out);
    }

    /// Takes a video body that is to be decoded at `at`, and appends its items to `out`.
    pub fn video(&mut self, at: Timestamp, body: Bytes, out: &mut Vec<Item>) {
        self.take(Kind::Video, at, body, out);
    }

    fn take(&mut self, kind: Kind, at: Timestamp, body: Bytes, out: &mut Vec<Item>) {
        let Some(mut parsed) = Body::of(kind, &body) else {
            return;
        };
        let configures = matches!(parsed.packet, Packet::SequenceHeader | Packet::Facts);
        let first = multitrack::parts(&parsed, &body).next();
        let mut coded = parsed.payload..body.len();
        let number = match (parsed.track, first) {
            (WireTrack::One(number), _) => Some(number),
            (WireTrack::Many, Some(_)) if configures => {
                self.take_apart(kind, &parsed, at, &body, out);
                return;
            }
            (WireTrack::Many, Some(first)) => {
                (parsed, coded) = parsed.first_of(kind, &first);
                Some(first.number)
            }
            (WireTrack::Many | WireTrack::Unknown, _) => None,
        };
        let number = number.filter(|number| *number < WIRE_TRACKS_MAX);
        let id = track_id(kind, number.unwrap_or(WIRE_TRACKS_MAX));
        if parsed.packet != Packet::Coded || number.is_none() {
            coded = 0..0;
        }
        let arrival = Arrival {
            id,
            kind,
            at,
            parsed,
            body,
            coded,
        };
        match parsed.packet {
            // For an unknown number of tracks, no configuration can be kept for joiners.
            Packet::SequenceHeader | Packet::Facts if number.is_none() => self.sample(arrival, out),
            Packet::SequenceHeader => self.configure(&arrival, out),
            Packet::Facts => self.facts(&arrival, out),
            Packet::Coded => self.sample(arrival, out),
            Packet::Other => {
                // Such a body holds none of the codec's bytes; it is passed on only for a track that keeps its bodies.
                let track = self.slot(id, parsed.codec);
                if let Some(track) = track.filter(|track| track.flv.is_some()) {
                    out.push(Item::Sample(arrival.into_sample(&track)));
                }
            }
        }
    }

    /// Splits sequence headers, or facts, of several tracks, and treats each as if it had arrived alone.
    fn take_apart(
        &mut self,
        kind: Kind,
        parsed: &Body,
        at: Timestamp,
        body: &Bytes,
        out: &mut Vec<Item>,
    ) {
        // No more than are distinguished: a body lists each track once.
        for part in multitrack::parts(parsed, body).take(WIRE_TRACKS_MAX.into()) {
            let alone = multitrack::numbered(kind, parsed, body, &part);
            self.take(kind, at, alone, out);
        }
    }

    /// Takes a sequence header: the track appears or changes, unless the header is already in force.
    fn configure(&mut self, arrival: &Arrival, out: &mut Vec<Item>) {
        let Arrival {
            id, parsed, body, ..
        } = arrival;
        let codec = parsed.codec;
        let payload = body.get(parsed.payload..).unwrap_or_default();
        let known = self.slot(*id, codec);
        let plain = codec.plain(*id);
        // ffmpeg writes an empty AAC header when it has none to write. For codecs that need no configuration, an empty
        // header is complete.
        let needs_config = plain.is_some() || matches!(codec, CodecTag::Number(_));
        let is_empty = payload.is_empty() && (needs_config || known.is_some());
        if is_empty || body.len() > CONFIG_BYTES_MAX {
            return;
        }
        let plain = plain.filter(|_| !parsed.is_modified && !self.must_be_kept(*id, codec));
        let track = plain.and_then(|codec| plain_track(*id, codec, payload));
        let track = track.unwrap_or_else(|| {
            let bodies = known.as_ref().and_then(|known| known.flv.as_deref());
            let (header, facts) = bodies.map(whole::split).unwrap_or_default();
            // A new header's facts follow it; until then there are none, unless they arrived first.
            let stay = header.is_empty() || header == body;
            let facts = if stay { facts } else { &[] };
            kept_track(*id, arrival.kind, codec, body, facts)
        });
        self.announce(track, codec, out);
        if parsed.is_modified {
            self.keep(*id, codec, out);
        }
    }

    /// Takes colour or channel layout, which a joiner needs like a sequence header.
    fn facts(&mut self, arrival: &Arrival, out: &mut Vec<Item>) {
        let Arrival { id, kind, body, .. } = arrival;
        let codec = arrival.parsed.codec;
        let in_force = self.slots.iter().find(|slot| slot.track.id == *id);
        let in_force = in_force.map(|slot| slot.codec);
        // MP3 frames, and the configurations of AAC and Opus, give their channels themselves, unless they cannot be
        // read. And before its sequence header, a track of plain samples has no facts.
        let is_kept = self
            .slot(*id, codec)
            .is_some_and(|track| track.flv.is_some());
        let is_needless = *kind == Kind::Audio && !is_kept || in_force.is_none();
        let is_reported = codec.plain(*id).is_some() && is_needless;
        if is_reported && !self.must_be_kept(*id, codec) || body.len() > CONFIG_BYTES_MAX {
            return;
        }
        // ffmpeg leaves out the track number: facts that the track's codec cannot have are kept as a separate track.
        let is_astray = in_force.is_some_and(|known| known != codec);
        let id = if is_astray {
            track_id(*kind, WIRE_TRACKS_MAX)
        } else {
            *id
        };
        self.keep(id, codec, out);
        let known = self.slot(id, codec);
        let bodies = known.as_ref().and_then(|known| known.flv.as_deref());
        let (header, _) = bodies.map(whole::split).unwrap_or_default();
        let track = kept_track(id, *kind, codec, header, body);
        self.announce(track, codec, out);
    }

    fn sample(&mut self, arrival: Arrival, out: &mut Vec<Item>) {
        let Arrival {
            id,
            kind,
            parsed,
            ref body,
            ..
        } = arrival;
        let codec = parsed.codec;
        let plain = codec.plain(id);
        if plain.is_some() && body.len() <= parsed.payload {
            return;
        }
        let says_no_more = !parsed.is_modified && parsed.track != WireTrack::Many;
        if !says_no_more {
            self.keep(id, codec, out);
        }
        let is_plain = says_no_more && !self.must_be_kept(id, codec);
        let track = if plain == Some(Codec::Mp3) && is_plain {
            // MP3 has no sequence header: each frame states its format.
            let track = mp3_track(body, parsed.payload);
            Some(self.announce(track, codec, out))
        } else {
            self.slot(id, codec)
        };
        let track = match (track, plain) {
            (Some(track), _) => track,
            // No decoder could start before the sequence header.
            (None, Some(Codec::H264 | Codec::Aac)) => return,
            (None, _) => {
                let track = kept_track(id, kind, codec, &[], &[]);
                let track = self.announce(track, codec, out);
                if !says_no_more {
                    self.keep(id, codec, out);
                }
                track
            }
        };
        out.push(Item::Sample(arrival.into_sample(&track)));
    }

    /// Returns the track `id` in force, if its codec is `codec`.
    fn slot(&self, id: TrackId, codec: CodecTag) -> Option<Arc<Track>> {
        let slot = self.slots.iter().find(|slot| slot.track.id == id)?;
        (slot.codec == codec).then(|| Arc::clone(&slot.track))
    }

    /// Returns whether bodies of the track have arrived that hold more than samples do.
    fn must_be_kept(&self, id: TrackId, codec: CodecTag) -> bool {
        let slot = self.slots.iter().find(|slot| slot.track.id == id);
        slot.is_some_and(|slot| slot.codec == codec && slot.must_be_kept)
    }

    /// Makes a track of plain samples keep its bodies from now on, as long as its codec stays the same.
    fn keep(&mut self, id: TrackId, codec: CodecTag, out: &mut Vec<Item>) {
        let slot = self.slots.iter_mut().find(|slot| slot.track.id == id);
        let Some(slot) = slot.filter(|slot| slot.codec == codec) else {
            return;
        };
        slot.must_be_kept = true;
        if slot.track.flv.is_some() {
            return;
        }
        // First bytes of a sequence header in a body of one unnumbered track.
        let prefix: &[u8] = match slot.track.codec {
            Codec::H264 => b"\x90avc1",
            Codec::Aac => b"\x90mp4a",
            Codec::Opus => b"\x90Opus",
            _ => &[],
        };
        let header = [prefix, &slot.track.config].concat();
        slot.track = Arc::new(Track {
            flv: Some(whole::join(&header, &[])),
            ..Track::clone(&slot.track)
        });
        out.push(Item::Track(Arc::clone(&slot.track)));
    }

    /// Puts `track` in force, and emits it only when something changed.
    fn announce(&mut self, track: Track, codec: CodecTag, out: &mut Vec<Item>) -> Arc<Track> {
        let known = self.slots.iter_mut().find(|slot| slot.track.id == track.id);
        if let Some(slot) = known {
            if *slot.track != track {
                slot.track = Arc::new(track);
                out.push(Item::Track(Arc::clone(&slot.track)));
            } else if slot.codec != codec && track.flv.is_some() {
                out.push(Item::Track(Arc::clone(&slot.track)));
            }
            slot.must_be_kept &= slot.codec == codec;
            slot.codec = codec;
            return Arc::clone(&slot.track);
        }
        let track = Arc::new(track);
        out.push(Item::Track(Arc::clone(&track)));
        self.slots.push(Slot {
            track: Arc::clone(&track),
            codec,
            must_be_kept: false,
        });
        track
    }
}

impl Arrival {
    /// Converts the body to a sample of `track`.
    fn into_sample(self, track: &Track) -> Sample {
        let Self {
            at,
            parsed,
            mut body,
            coded,
            ..
        } = self;
        let (data, flv) = if track.flv.is_some() {
            (body.slice(coded), Some(Box::new(body)))
        } else {
            // The body is not split, because splitting makes a shared buffer, which costs another allocation.
            body.advance(coded.start);
            (body, None)
        };
        Sample {
            track: track.id,
            dts: at,
            pts: presentation(at, parsed),
            duration: duration(track, &data),
            keyframe: parsed.keyframe && parsed.packet == Packet::Coded,
            data,
            flv,
        }
    }
}

/// Returns the stream's id for a numbered track; numbers are below 128.
fn track_id(kind: Kind, number: u8) -> TrackId {
    TrackId(2 * number + if kind == Kind::Video { 1 } else { 0 })
}

/// Returns the duration of a sample, if its codec determines it.
fn duration(track: &Track, data: &[u8]) -> Span {
    let duration = match track.codec {
        Codec::Aac => AudioSpecificConfig::parse(&track.config).map(|config| {
            Span::from_samples(config.samples_per_frame().into(), config.sample_rate)
        }),
        Codec::Mp3 => FrameHeader::parse(data)
            .map(|header| Span::from_samples(header.samples().into(), header.sample_rate)),
        Codec::Opus => opus::duration(data),
        _ => None,
    };
    duration.unwrap_or_default()
}

/// Returns the presentation time of a video frame: before its decoding time, if the publisher says so (FLV v10.1,
/// E.4.3.1: `SI24`).
fn presentation(at: Timestamp, parsed: Body) -> Timestamp {
    let millis = parsed.composition_millis.max(COMPOSITION_MILLIS_MIN);
    at + Span::from_millis(millis.into())
}
