//! Tag bodies to items.
//!
//! Samples are the codec's own bytes, without their framing. H.264, AAC, MP3 and Opus of one or two channels
//! need no more, however they were announced, as long as their samples hold all that the bodies did; every
//! other track also keeps its bodies ([`Track::flv`]), for FLV listeners. Nothing a publisher sends is an
//! error here: bodies without media are skipped, unknown ones relayed.

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

/// Numbered tracks of one kind that are told apart. Multitrack publishers send a handful of renditions; each
/// track costs its sequence header in memory.
pub const WIRE_TRACKS_MAX: u8 = 16;

/// The longest sequence header that is kept. Real ones have tens of bytes, a few hundred with many
/// parameter sets.
pub const CONFIG_BYTES_MAX: usize = 64 * 1024;

/// How long before its decoding a picture may be presented, in milliseconds: more than any encoder reorders. Only muxers of
/// other containers have to do with it, and delay pictures by as much.
const COMPOSITION_MILLIS_MIN: i32 = -10_000;

/// Turns the bodies of RTMP audio and video messages, or FLV tags, into items.
///
/// The first audio and video tracks are [`TrackId::AUDIO`] and [`TrackId::VIDEO`]; track `n` of a multitrack
/// publisher is `2n` (audio) or `2n + 1` (video). Sequence headers of several tracks in one body are split,
/// so that each track has its own; media of several tracks stays together and counts as the first track's.
/// Numbers beyond [`WIRE_TRACKS_MAX`] share a track.
#[derive(Debug, Default)]
pub struct Depacketizer {
    slots: Vec<Slot>,
}

/// The state of one track.
#[derive(Debug)]
struct Slot {
    track: Arc<Track>,
    codec: CodecTag,
    /// Bodies have come that hold more than samples do.
    must_be_kept: bool,
}

/// A body of one track, and where in it the codec's own bytes are.
struct Arrival {
    id: TrackId,
    kind: Kind,
    at: Timestamp,
    parsed: Body,
    body: Bytes,
    coded: Range<usize>,
}

impl Depacketizer {
    /// Takes an audio body that arrived for `at`, appending its items to `out`.
    pub fn audio(&mut self, at: Timestamp, body: Bytes, out: &mut Vec<Item>) {
        self.take(Kind::Audio, at, body, out);
    }

    /// Takes a video body that is to be decoded at `at`, appending its items to `out`.
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
            // Of an unknown number of tracks no configuration can be kept for joiners.
            Packet::SequenceHeader | Packet::Facts if number.is_none() => self.sample(arrival, out),
            Packet::SequenceHeader => self.configure(&arrival, out),
            Packet::Facts => self.facts(&arrival, out),
            Packet::Coded => self.sample(arrival, out),
            Packet::Other => {
                // It holds nothing of the codec's; a track that keeps its bodies keeps it.
                let track = self.slot(id, parsed.codec);
                if let Some(track) = track.filter(|track| track.flv.is_some()) {
                    out.push(Item::Sample(arrival.into_sample(&track)));
                }
            }
        }
    }

    /// Sequence headers, or facts, of several tracks: each is treated as if it had come alone.
    fn take_apart(
        &mut self,
        kind: Kind,
        parsed: &Body,
        at: Timestamp,
        body: &Bytes,
        out: &mut Vec<Item>,
    ) {
        // No more than are told apart: a body lists each track once.
        for part in multitrack::parts(parsed, body).take(WIRE_TRACKS_MAX.into()) {
            let alone = multitrack::numbered(kind, parsed, body, &part);
            self.take(kind, at, alone, out);
        }
    }

    /// A sequence header: the track appears or changes, unless it is the header in force.
    fn configure(&mut self, arrival: &Arrival, out: &mut Vec<Item>) {
        let Arrival {
            id, parsed, body, ..
        } = arrival;
        let codec = parsed.codec;
        let payload = body.get(parsed.payload..).unwrap_or_default();
        let known = self.slot(*id, codec);
        let plain = codec.plain(*id);
        // ffmpeg writes an empty AAC header when it has none to write. Of codecs that need no
        // configuration an empty header is all there is.
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
            // A new header's facts follow it; until then there are none, unless they came first.
            let stay = header.is_empty() || header == body;
            let facts = if stay { facts } else { &[] };
            kept_track(*id, arrival.kind, codec, body, facts)
        });
        self.announce(track, codec, out);
        if parsed.is_modified {
            self.keep(*id, codec, out);
        }
    }

    /// Colour or channel layout, which a joiner needs like a sequence header.
    fn facts(&mut self, arrival: &Arrival, out: &mut Vec<Item>) {
        let Arrival { id, kind, body, .. } = arrival;
        let codec = arrival.parsed.codec;
        let in_force = self.slots.iter().find(|slot| slot.track.id == *id);
        let in_force = in_force.map(|slot| slot.codec);
        // Frames of MP3, and the configurations of AAC and Opus, name their channels themselves, unless they
        // cannot be read. And before its sequence header a track of plain samples has no facts.
        let is_kept = self
            .slot(*id, codec)
            .is_some_and(|track| track.flv.is_some());
        let is_needless = *kind == Kind::Audio && !is_kept || in_force.is_none();
        let is_told = codec.plain(*id).is_some() && is_needless;
        if is_told && !self.must_be_kept(*id, codec) || body.len() > CONFIG_BYTES_MAX {
            return;
        }
        // ffmpeg leaves out the number of the track it means: facts that the track's codec cannot have are
        // kept beside it.
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
            // MP3 has no sequence header: each frame names the format.
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

    /// The track `id` in force, if it is coded as `codec`.
    fn slot(&self, id: TrackId, codec: CodecTag) -> Option<Arc<Track>> {
        let slot = self.slots.iter().find(|slot| slot.track.id == id)?;
        (slot.codec == codec).then(|| Arc::clone(&slot.track))
    }

    /// Whether bodies of the track have come that hold more than samples do.
    fn must_be_kept(&self, id: TrackId, codec: CodecTag) -> bool {
        let slot = self.slots.iter().find(|slot| slot.track.id == id);
        slot.is_some_and(|slot| slot.codec == codec && slot.must_be_kept)
    }

    /// From here on a track of plain samples keeps its bodies, as long as it keeps its codec.
    fn keep(&mut self, id: TrackId, codec: CodecTag, out: &mut Vec<Item>) {
        let slot = self.slots.iter_mut().find(|slot| slot.track.id == id);
        let Some(slot) = slot.filter(|slot| slot.codec == codec) else {
            return;
        };
        slot.must_be_kept = true;
        if slot.track.flv.is_some() {
            return;
        }
        // The first bytes of a sequence header in a body of one unnumbered track.
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
    /// As a sample of `track`.
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
            // Not split, because splitting makes a shared buffer, which costs another allocation.
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

/// The stream's name for a numbered track; numbers are below 128.
fn track_id(kind: Kind, number: u8) -> TrackId {
    TrackId(2 * number + if kind == Kind::Video { 1 } else { 0 })
}

/// How long a sample lasts, if its codec tells.
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

/// When a picture is presented: before it is decoded, where its publisher says so (FLV v10.1, E.4.3.1: `SI24`).
fn presentation(at: Timestamp, parsed: Body) -> Timestamp {
    let millis = parsed.composition_millis.max(COMPOSITION_MILLIS_MIN);
    at + Span::from_millis(millis.into())
}
