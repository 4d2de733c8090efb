//! Time and track data of the header.

use media::{Codec, Framing, Kind, TICKS_PER_SECOND, Track, TrackId};

use super::ebml::{self, id};

/// Upper bound on the tracks that are distinguished; a film with every language has fewer.
const TRACKS_MAX: usize = 16;

/// Nanoseconds per tick in a file that does not declare them.
const TIMESTAMP_SCALE_DEFAULT: u64 = 1_000_000;

/// Facts read from one header.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Nanoseconds per tick of cluster and block timestamps.
    pub(super) timestamp_scale: u64,
    /// Tracks with their numbers in blocks.
    pub(super) tracks: Vec<(u64, Track)>,
}

impl Facts {
    /// Reads a whole header: everything before the first cluster.
    pub(super) fn read(header: &[u8]) -> Self {
        let mut facts = Self {
            timestamp_scale: TIMESTAMP_SCALE_DEFAULT,
            tracks: Vec::new(),
        };
        for (id, body) in ebml::of_header(header) {
            match id {
                id::INFO => facts.read_info(body),
                id::TRACKS => facts.read_tracks(body),
                _ => {}
            }
        }
        facts
    }

    pub(super) fn has_video(&self) -> bool {
        self.tracks
            .iter()
            .any(|(_, track)| track.kind == Kind::Video)
    }

    pub(super) fn track(&self, number: u64) -> Option<&Track> {
        self.tracks
            .iter()
            .find(|(known, _)| *known == number)
            .map(|(_, track)| track)
    }

    /// Converts a timestamp to ticks.
    pub(super) fn ticks(&self, timestamp: u64) -> i64 {
        let nanos = i128::from(timestamp).saturating_mul(self.timestamp_scale.into());
        let ticks = nanos.saturating_mul(TICKS_PER_SECOND.into()) / 1_000_000_000;
        i64::try_from(ticks).unwrap_or(i64::MAX)
    }

    fn read_info(&mut self, body: &[u8]) {
        let scale = ebml::children(body).find(|(id, _)| *id == id::TIMESTAMP_SCALE);
        if let Some(scale) = scale.and_then(|(_, body)| ebml::unsigned(body)) {
            self.timestamp_scale = scale;
        }
    }

    fn read_tracks(&mut self, body: &[u8]) {
        let entries = ebml::children(body).filter(|(id, _)| *id == id::TRACK_ENTRY);
        for (_, entry) in entries.take(TRACKS_MAX) {
            let field = |wanted| ebml::children(entry).find(|(id, _)| *id == wanted);
            let number = |wanted| field(wanted).and_then(|(_, body)| ebml::unsigned(body));
            let kind = match number(id::TRACK_TYPE) {
                Some(1) => Kind::Video,
                Some(2) => Kind::Audio,
                _ => continue,
            };
            let Some(wire_number) = number(id::TRACK_NUMBER) else {
                continue;
            };
            let codec = field(id::CODEC_ID).map_or(Codec::UNKNOWN, |(_, name)| codec(name));
            let audio = field(id::AUDIO).map(|(_, audio)| audio).unwrap_or_default();
            let (sample_rate, channels) = audio_format(kind, audio);
            let track = Track {
                sample_rate,
                channels,
                ..Track::new(self.free_id(kind), kind, codec, Framing::SelfFramed)
            };
            self.tracks.push((wire_number, track));
        }
    }

    /// Chooses an id: the first audio and the first video track get their usual ids, others the next ones.
    fn free_id(&self, kind: Kind) -> TrackId {
        let is_first = self.tracks.iter().all(|(_, track)| track.kind != kind);
        match is_first {
            true => TrackId::first(kind),
            false => TrackId(TrackId::VIDEO.0 + self.tracks.len() as u8),
        }
    }
}

fn codec(name: &[u8]) -> Codec {
    match name {
        b"A_OPUS" => Codec::Opus,
        b"A_VORBIS" => Codec::Vorbis,
        b"A_FLAC" => Codec::Flac,
        b"A_MPEG/L3" => Codec::Mp3,
        b"A_AC3" => Codec::Ac3,
        b"A_EAC3" => Codec::Eac3,
        b"V_MPEG4/ISO/AVC" => Codec::H264,
        b"V_MPEGH/ISO/HEVC" => Codec::Hevc,
        b"V_AV1" => Codec::Av1,
        b"V_VP8" => Codec::Vp8,
        b"V_VP9" => Codec::Vp9,
        name if name.starts_with(b"A_AAC") => Codec::Aac,
        _ => Codec::UNKNOWN,
    }
}

/// Returns sample rate and channels; Matroska assumes 8 kHz mono where they are missing (RFC 9559 §5.1.4.1.29).
fn audio_format(kind: Kind, audio: &[u8]) -> (u32, u8) {
    if kind == Kind::Video {
        return (0, 0);
    }
    let field = |wanted| ebml::children(audio).find(|(id, _)| *id == wanted);
    let rate = field(id::SAMPLING_FREQUENCY).and_then(|(_, body)| ebml::float(body));
    let channels = field(id::CHANNELS).and_then(|(_, body)| ebml::unsigned(body));
    (
        rate.unwrap_or(8_000.0) as u32,
        u8::try_from(channels.unwrap_or(1)).unwrap_or_default(),
    )
}
