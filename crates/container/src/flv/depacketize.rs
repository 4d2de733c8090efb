//! Tag bodies to items.
//!
//! H.264, AAC, MP3 and Opus of one or two channels become bare samples, whichever way they were announced,
//! as long as bare samples say all that the bodies said; everything else is relayed whole as [`Framing::FlvBody`]. Nothing
//! a publisher sends is an error here: what carries no media is passed over, what is not
//! understood is relayed.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use media::codec::aac::AudioSpecificConfig;
use media::codec::h264::AvcConfig;
use media::codec::mpeg_audio::FrameHeader;
use media::codec::opus;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

use super::body::{Body, CodecTag, FOURCC_AAC, FOURCC_AVC, FOURCC_MP3, Packet, WireTrack};
use super::elementary::{
    FOURCC_AC3, FOURCC_AV1, FOURCC_EAC3, FOURCC_FLAC, FOURCC_HEVC, FOURCC_OPUS, FOURCC_VP8,
    FOURCC_VP9, FOURCC_VVC,
};
use super::{AUDIO_AAC, AUDIO_MP3, AUDIO_MP3_8K, VIDEO_AVC, multitrack, whole};

/// Numbered tracks of one kind that are told apart. Multitrack publishers send a handful of
/// renditions; each track costs its sequence header in memory.
pub const WIRE_TRACKS_MAX: u8 = 16;

/// The longest sequence header that is kept. Real ones have tens of bytes, a few hundred with many
/// parameter sets.
pub const CONFIG_BYTES_MAX: usize = 64 * 1024;

/// Turns the bodies of RTMP audio and video messages, or FLV tags, into items.
///
/// The first audio and video tracks are [`TrackId::AUDIO`] and [`TrackId::VIDEO`]; track `n` of a
/// multitrack publisher is `2n` (audio) or `2n + 1` (video). Sequence headers of several tracks in
/// one body are taken apart, so that each track has its own; media of several tracks stays
/// together and counts as the first track's. Numbers beyond [`WIRE_TRACKS_MAX`] share a track.
#[derive(Debug, Default)]
pub struct Depacketizer {
    slots: Vec<Slot>,
}

/// One track as it stands.
#[derive(Debug)]
struct Slot {
    track: Arc<Track>,
    codec: CodecTag,
    /// Bodies have come that bare samples cannot express.
    must_be_whole: bool,
}

impl Depacketizer {
    /// Takes an audio body that arrived for `at`, appending what it means to `out`.
    pub fn audio(&mut self, at: Timestamp, body: Bytes, out: &mut Vec<Item>) {
        if let Some(parsed) = Body::audio(&body) {
            self.take(Kind::Audio, parsed, at, body, out);
        }
    }

    /// Takes a video body that is to be decoded at `at`, appending what it means to `out`.
    pub fn video(&mut self, at: Timestamp, body: Bytes, out: &mut Vec<Item>) {
        if let Some(parsed) = Body::video(&body) {
            self.take(Kind::Video, parsed, at, body, out);
        }
    }

    fn take(
        &mut self,
        kind: Kind,
        mut parsed: Body,
        at: Timestamp,
        body: Bytes,
        out: &mut Vec<Item>,
    ) {
        let configures = matches!(parsed.packet, Packet::SequenceHeader | Packet::Facts);
        let first = multitrack::parts(&parsed, &body).next();
        let number = match (parsed.track, first) {
            (WireTrack::One(number), _) => Some(number),
            (WireTrack::Many, Some(_)) if configures => {
                self.take_apart(kind, parsed, at, &body, out);
                return;
            }
            (WireTrack::Many, Some(first)) => {
                parsed.codec = CodecTag::FourCc(first.codec);
                Some(first.number)
            }
            (WireTrack::Many | WireTrack::Unknown, _) => None,
        };
        let number = number.filter(|number| *number < WIRE_TRACKS_MAX);
        let id = track_id(kind, number.unwrap_or(WIRE_TRACKS_MAX));
        match parsed.packet {
            // Of who knows how many tracks no configuration can be kept for joiners.
            Packet::SequenceHeader | Packet::Facts if number.is_none() => {
                self.sample(id, kind, parsed, at, body, out);
            }
            Packet::SequenceHeader => self.configure(id, kind, parsed, &body, out),
            Packet::Facts => self.facts(id, kind, parsed, &body, out),
            Packet::Coded => self.sample(id, kind, parsed, at, body, out),
            Packet::Other => {
                // Bare samples have no place for it; a track that is relayed whole keeps it.
                let track = self.slot(id, parsed.codec);
                if track.is_some_and(|track| track.framing == Framing::FlvBody) {
                    out.push(Item::Sample(whole_body(id, parsed, at, body)));
                }
            }
        }
    }

    /// Sequence headers, or facts, of several tracks: each as if it had come alone.
    fn take_apart(
        &mut self,
        kind: Kind,
        parsed: Body,
        at: Timestamp,
        body: &Bytes,
        out: &mut Vec<Item>,
    ) {
        // No more than are told apart: a body lists each track once.
        for part in multitrack::parts(&parsed, body).take(WIRE_TRACKS_MAX.into()) {
            let alone = multitrack::alone(kind, &parsed, body, &part);
            match kind {
                Kind::Audio => self.audio(at, alone, out),
                Kind::Video => self.video(at, alone, out),
            }
        }
    }

    /// A sequence header: the track appears or changes, unless it is the header in force.
    fn configure(
        &mut self,
        id: TrackId,
        kind: Kind,
        parsed: Body,
        body: &Bytes,
        out: &mut Vec<Item>,
    ) {
        let payload = body.get(parsed.payload..).unwrap_or_default();
        let known = self.slot(id, parsed.codec);
        let bare = bare_codec(id, parsed.codec);
        // ffmpeg writes an empty AAC header when it has none to write. Of codecs that need no
        // configuration an empty header is all there is.
        let needs_config = bare.is_some() || matches!(parsed.codec, CodecTag::Number(_));
        let is_empty = payload.is_empty() && (needs_config || known.is_some());
        if is_empty || body.len() > CONFIG_BYTES_MAX {
            return;
        }
        let bare = bare.filter(|_| !parsed.is_modified && !self.must_be_whole(id, parsed.codec));
        let track = bare.and_then(|codec| bare_track(id, codec, payload));
        let track = track.unwrap_or_else(|| {
            let (header, facts) = known
                .as_ref()
                .filter(|known| known.framing == Framing::FlvBody)
                .map(|known| whole::split(&known.config))
                .unwrap_or_default();
            // A new header's facts follow it; until then there are none, unless they came first.
            let stay = header.is_empty() || header == body;
            let facts = if stay { facts } else { &[] };
            whole_track(id, kind, parsed.codec, body, facts)
        });
        self.announce(track, parsed.codec, out);
        if parsed.is_modified {
            self.keep_whole(id, parsed.codec, out);
        }
    }

    /// Colour or channel layout, which a joiner needs to be told like a sequence header.
    fn facts(&mut self, id: TrackId, kind: Kind, parsed: Body, body: &Bytes, out: &mut Vec<Item>) {
        let is_bare = bare_codec(id, parsed.codec).is_some();
        let in_force = self.slots.iter().find(|slot| slot.track.id == id);
        let in_force = in_force.map(|slot| slot.codec);
        // Frames of MP3, and the configurations of AAC and Opus, tell their channels themselves, unless
        // they could not be read. And before its sequence header a track of bare samples is nothing
        // that facts could be known of.
        let known = self.slot(id, parsed.codec);
        let is_whole = known.is_some_and(|track| track.framing == Framing::FlvBody);
        let is_told = is_bare && (kind == Kind::Audio && !is_whole || in_force.is_none());
        if is_told && !self.must_be_whole(id, parsed.codec) || body.len() > CONFIG_BYTES_MAX {
            return;
        }
        // ffmpeg leaves out the number of the track it means: facts that the track's codec cannot
        // have are kept beside it.
        let is_astray = in_force.is_some_and(|codec| codec != parsed.codec);
        let id = if is_astray {
            track_id(kind, WIRE_TRACKS_MAX)
        } else {
            id
        };
        self.keep_whole(id, parsed.codec, out);
        let known = self.slot(id, parsed.codec);
        let config = known.as_ref().map(|known| whole::split(&known.config));
        let (header, _) = config.unwrap_or_default();
        let track = whole_track(id, kind, parsed.codec, header, body);
        self.announce(track, parsed.codec, out);
    }

    fn sample(
        &mut self,
        id: TrackId,
        kind: Kind,
        parsed: Body,
        at: Timestamp,
        body: Bytes,
        out: &mut Vec<Item>,
    ) {
        let bare = bare_codec(id, parsed.codec);
        if bare.is_some() && body.len() <= parsed.payload {
            return;
        }
        let fits_bare = !parsed.is_modified && parsed.track != WireTrack::Many;
        if !fits_bare {
            self.keep_whole(id, parsed.codec, out);
        }
        let is_bare = fits_bare && !self.must_be_whole(id, parsed.codec);
        let track = if bare == Some(Codec::Mp3) && is_bare {
            // MP3 has no sequence header: each frame tells the format.
            let track = mp3_track(&body, parsed.payload);
            Some(self.announce(track, parsed.codec, out))
        } else {
            self.slot(id, parsed.codec)
        };
        match (track, bare) {
            (Some(track), _) if track.framing == Framing::FlvBody => {
                out.push(Item::Sample(whole_body(id, parsed, at, body)));
            }
            (Some(track), _) => {
                out.push(Item::Sample(bare_sample(&track, parsed, at, body)));
            }
            // No decoder could start before the sequence header.
            (None, Some(Codec::H264 | Codec::Aac)) => {}
            (None, _) => {
                let track = whole_track(id, kind, parsed.codec, &[], &[]);
                self.announce(track, parsed.codec, out);
                if !fits_bare {
                    self.keep_whole(id, parsed.codec, out);
                }
                out.push(Item::Sample(whole_body(id, parsed, at, body)));
            }
        }
    }

    /// The track `id` in force, if it is coded as `codec`.
    fn slot(&self, id: TrackId, codec: CodecTag) -> Option<Arc<Track>> {
        let slot = self.slots.iter().find(|slot| slot.track.id == id)?;
        (slot.codec == codec).then(|| Arc::clone(&slot.track))
    }

    /// Whether bodies of the track have come that bare samples cannot express.
    fn must_be_whole(&self, id: TrackId, codec: CodecTag) -> bool {
        let slot = self.slots.iter().find(|slot| slot.track.id == id);
        slot.is_some_and(|slot| slot.codec == codec && slot.must_be_whole)
    }

    /// From here on a track that was handed on bare is relayed whole, as long as it keeps its
    /// codec.
    fn keep_whole(&mut self, id: TrackId, codec: CodecTag, out: &mut Vec<Item>) {
        let slot = self.slots.iter_mut().find(|slot| slot.track.id == id);
        let Some(slot) = slot.filter(|slot| slot.codec == codec) else {
            return;
        };
        slot.must_be_whole = true;
        if slot.track.framing == Framing::FlvBody {
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
        slot.track = Arc::new(whole_track(id, slot.track.kind, codec, &header, &[]));
        out.push(Item::Track(Arc::clone(&slot.track)));
    }

    /// Puts `track` in force, telling so only when something changed.
    fn announce(&mut self, track: Track, codec: CodecTag, out: &mut Vec<Item>) -> Arc<Track> {
        let known = self.slots.iter_mut().find(|slot| slot.track.id == track.id);
        if let Some(slot) = known {
            if *slot.track != track {
                slot.track = Arc::new(track);
                out.push(Item::Track(Arc::clone(&slot.track)));
            } else if slot.codec != codec && track.framing == Framing::FlvBody {
                out.push(Item::Track(Arc::clone(&slot.track)));
            }
            slot.must_be_whole &= slot.codec == codec;
            slot.codec = codec;
            return Arc::clone(&slot.track);
        }
        let track = Arc::new(track);
        out.push(Item::Track(Arc::clone(&track)));
        self.slots.push(Slot {
            track: Arc::clone(&track),
            codec,
            must_be_whole: false,
        });
        track
    }
}

/// The stream's name for a numbered track; numbers are below 128.
fn track_id(kind: Kind, number: u8) -> TrackId {
    TrackId(2 * number + if kind == Kind::Video { 1 } else { 0 })
}

/// The codec of a track whose samples are handed on bare. Further tracks of a multitrack publisher
/// stay whole, because their number is part of the body.
fn bare_codec(id: TrackId, codec: CodecTag) -> Option<Codec> {
    match (id, codec) {
        (TrackId::VIDEO, CodecTag::Number(VIDEO_AVC) | CodecTag::FourCc(FOURCC_AVC)) => {
            Some(Codec::H264)
        }
        (TrackId::AUDIO, CodecTag::Number(AUDIO_AAC) | CodecTag::FourCc(FOURCC_AAC)) => {
            Some(Codec::Aac)
        }
        (
            TrackId::AUDIO,
            CodecTag::Number(AUDIO_MP3 | AUDIO_MP3_8K) | CodecTag::FourCc(FOURCC_MP3),
        ) => Some(Codec::Mp3),
        (TrackId::AUDIO, CodecTag::FourCc(FOURCC_OPUS)) => Some(Codec::Opus),
        _ => None,
    }
}

/// A track of bare samples; `None` when its configuration cannot be read.
///
/// The configuration is copied: it outlives the message buffer it came in.
fn bare_track(id: TrackId, codec: Codec, config: &[u8]) -> Option<Track> {
    let (kind, sample_rate, channels) = match codec {
        Codec::H264 => {
            AvcConfig::parse(config)?;
            (Kind::Video, 0, 0)
        }
        Codec::Aac => {
            let parsed = AudioSpecificConfig::parse(config)?;
            (Kind::Audio, parsed.sample_rate, parsed.channels)
        }
        Codec::Opus => (Kind::Audio, opus::RATE, opus::plain_head_channels(config)?),
        _ => return None,
    };
    let config = Bytes::copy_from_slice(config);
    Some(Track {
        id,
        kind,
        codec,
        framing: Framing::Bare,
        config,
        sample_rate,
        channels,
        flv: None,
    })
}

/// What a whole body is coded as. Only its name is known of most.
const fn named(kind: Kind, codec: CodecTag) -> Codec {
    match (kind, codec) {
        (Kind::Video, CodecTag::Number(VIDEO_AVC) | CodecTag::FourCc(FOURCC_AVC)) => Codec::H264,
        // 12, and 13 of sound, are numbers that encoders agreed on before Enhanced RTMP.
        (Kind::Video, CodecTag::Number(12) | CodecTag::FourCc(FOURCC_HEVC)) => Codec::Hevc,
        (Kind::Video, CodecTag::FourCc(FOURCC_AV1)) => Codec::Av1,
        (Kind::Video, CodecTag::FourCc(FOURCC_VP8)) => Codec::Vp8,
        (Kind::Video, CodecTag::FourCc(FOURCC_VP9)) => Codec::Vp9,
        (Kind::Video, CodecTag::FourCc(FOURCC_VVC)) => Codec::Vvc,
        (Kind::Audio, CodecTag::Number(AUDIO_AAC) | CodecTag::FourCc(FOURCC_AAC)) => Codec::Aac,
        (
            Kind::Audio,
            CodecTag::Number(AUDIO_MP3 | AUDIO_MP3_8K) | CodecTag::FourCc(FOURCC_MP3),
        ) => Codec::Mp3,
        (Kind::Audio, CodecTag::Number(13) | CodecTag::FourCc(FOURCC_OPUS)) => Codec::Opus,
        (Kind::Audio, CodecTag::FourCc(FOURCC_FLAC)) => Codec::Flac,
        (Kind::Audio, CodecTag::FourCc(FOURCC_AC3)) => Codec::Ac3,
        (Kind::Audio, CodecTag::FourCc(FOURCC_EAC3)) => Codec::Eac3,
        (Kind::Audio, CodecTag::Number(7)) => Codec::Pcma,
        (Kind::Audio, CodecTag::Number(8)) => Codec::Pcmu,
        (Kind::Audio, CodecTag::Number(11)) => Codec::Speex,
        _ => Codec::Opaque,
    }
}

fn whole_track(id: TrackId, kind: Kind, codec: CodecTag, header: &[u8], facts: &[u8]) -> Track {
    Track {
        id,
        kind,
        codec: named(kind, codec),
        framing: Framing::FlvBody,
        config: whole::join(header, facts),
        sample_rate: 0,
        channels: 0,
        flv: None,
    }
}

/// The track that an MP3 body implies: by its frame header, else by the tag's own flags.
fn mp3_track(body: &[u8], payload: usize) -> Track {
    const FLAG_RATES: [u32; 4] = [5_512, 11_025, 22_050, 44_100];
    let flags = body.first().copied().unwrap_or_default();
    let (sample_rate, channels) = match FrameHeader::parse(body.get(payload..).unwrap_or_default())
    {
        Some(header) => (header.sample_rate, header.channels),
        None if flags >> 4 == AUDIO_MP3_8K => (8_000, (flags & 1) + 1),
        None => (FLAG_RATES[usize::from(flags >> 2 & 3)], (flags & 1) + 1),
    };
    Track {
        id: TrackId::AUDIO,
        kind: Kind::Audio,
        codec: Codec::Mp3,
        framing: Framing::Bare,
        config: Bytes::new(),
        sample_rate,
        channels,
        flv: None,
    }
}

fn bare_sample(track: &Track, parsed: Body, at: Timestamp, mut body: Bytes) -> Sample {
    // Not split, for that makes it a shared buffer, which takes an allocation more.
    body.advance(parsed.payload);
    let data = body;
    let duration = match track.codec {
        Codec::Aac => AudioSpecificConfig::parse(&track.config).map(|config| {
            Span::from_samples(config.samples_per_frame().into(), config.sample_rate)
        }),
        Codec::Mp3 => FrameHeader::parse(&data)
            .map(|header| Span::from_samples(header.samples().into(), header.sample_rate)),
        Codec::Opus => opus::duration(&data),
        _ => None,
    };
    Sample {
        track: track.id,
        dts: at,
        pts: presentation(at, parsed),
        duration: duration.unwrap_or_default(),
        keyframe: parsed.keyframe,
        data,
        flv: None,
    }
}

fn whole_body(id: TrackId, parsed: Body, at: Timestamp, body: Bytes) -> Sample {
    Sample {
        track: id,
        dts: at,
        pts: presentation(at, parsed),
        duration: Span::ZERO,
        keyframe: parsed.keyframe && parsed.packet == Packet::Coded,
        data: body,
        flv: None,
    }
}

/// A negative composition time would present a frame before it is decoded.
fn presentation(at: Timestamp, parsed: Body) -> Timestamp {
    at + Span::from_millis(parsed.composition_millis.max(0).into())
}
