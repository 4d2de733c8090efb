//! Made-up streams.

use bytes::Bytes;
use media::codec::h264::AvcConfig;
use media::codec::hevc::HevcConfig;
use media::{Codec, Framing, Item, Kind, Sample, Script, Span, Timestamp, Track, TrackId};

use super::super::Fragmentation;

/// High profile, 1280×720, from x264.
pub(super) const SPS_720P: &[u8] = &[
    0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
];
/// Baseline, 320×180.
pub(super) const SPS_180P: &[u8] = &[
    0x67, 0x42, 0xC0, 0x0C, 0xD9, 0x01, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10,
    0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0xA4, 0x80,
];
const PPS: &[u8] = &[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0];

/// Main profile, 320×180, from x265.
const HEVC_VPS: &[u8] = &[
    0x40, 0x01, 0x0C, 0x01, 0xFF, 0xFF, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03,
    0x00, 0x00, 0x03, 0x00, 0x3C, 0x95, 0x98, 0x09,
];
const HEVC_SPS: &[u8] = &[
    0x42, 0x01, 0x01, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00, 0x03,
    0x00, 0x3C, 0xA0, 0x0A, 0x08, 0x0B, 0x9F, 0x79, 0x65, 0x66, 0x92, 0x4C, 0xAF, 0x01, 0x68, 0x08,
    0x00, 0x00, 0x03, 0x00, 0x08, 0x00, 0x00, 0x03, 0x00, 0xC8, 0x40,
];

/// Main profile, 320×180, from SVT-AV1.
pub(super) const AV1_RECORD: &[u8] = &[
    0x81, 0x00, 0x0C, 0x00, 0x0A, 0x0B, 0x02, 0x00, 0x00, 0x05, 0x21, 0xE7, 0xF6, 0x60, 0x17, 0xC0,
    0x02,
];

/// A keyframe of 320×180, profile 0, from libvpx.
pub(super) const VP9_KEY: &[u8] = &[0x82, 0x49, 0x83, 0x42, 0x00, 0x13, 0xF0, 0x0B, 0x36, 0x00];

/// AAC-LC, 44.1 kHz and 48 kHz, stereo.
pub(super) const AAC_44: &[u8] = &[0x12, 0x10];
pub(super) const AAC_48: &[u8] = &[0x11, 0x90];

pub(super) fn avc_record(sps: &[u8]) -> Vec<u8> {
    AvcConfig::write(&[sps], &[PPS]).expect("readable parameter sets")
}

pub(super) fn hevc_record() -> Vec<u8> {
    let pps: &[u8] = &[0x44, 0x01, 0xC1, 0x72, 0xB4, 0x62, 0x40];
    HevcConfig::write(&[HEVC_VPS], &[HEVC_SPS], &[pps]).expect("readable parameter sets")
}

pub(super) fn track(codec: Codec, config: &[u8]) -> Track {
    let is_picture = matches!(
        codec,
        Codec::H264 | Codec::Hevc | Codec::Av1 | Codec::Vp8 | Codec::Vp9 | Codec::Vvc
    );
    let (id, kind) = if is_picture {
        (TrackId::VIDEO, Kind::Video)
    } else {
        (TrackId::AUDIO, Kind::Audio)
    };
    Track {
        id,
        kind,
        codec,
        framing: Framing::Bare,
        config: Bytes::copy_from_slice(config),
        sample_rate: 0,
        channels: 0,
        flv: None,
    }
}

pub(super) fn h264() -> Item {
    Item::Track(track(Codec::H264, &avc_record(SPS_720P)).into())
}

pub(super) fn aac() -> Item {
    Item::Track(track(Codec::Aac, AAC_48).into())
}

pub(super) fn metadata(body: &'static [u8]) -> Item {
    Item::Metadata(Script {
        at: Timestamp::ZERO,
        body: Bytes::from_static(body),
    })
}

/// A picture at `millis` whose bytes tell its time.
pub(super) fn picture(millis: i64, keyframe: bool) -> Item {
    picture_of(format!("picture {millis}").as_bytes(), millis, keyframe)
}

pub(super) fn picture_of(data: &[u8], millis: i64, keyframe: bool) -> Item {
    let at = Timestamp::from_millis(millis);
    sample(TrackId::VIDEO, at, keyframe, data)
}

/// A frame of sound.
pub(super) fn sound(millis: i64) -> Item {
    sound_of(format!("sound {millis}").as_bytes(), millis)
}

pub(super) fn sound_of(data: &[u8], millis: i64) -> Item {
    sample(TrackId::AUDIO, Timestamp::from_millis(millis), true, data)
}

pub(super) fn sample(track: TrackId, at: Timestamp, keyframe: bool, data: &[u8]) -> Item {
    Item::Sample(Sample {
        track,
        dts: at,
        pts: at,
        duration: Span::ZERO,
        keyframe,
        data: Bytes::copy_from_slice(data),
        flv: None,
    })
}

/// The time of item `n` at `rate` (numerator, denominator) a second, as RTMP rounds it.
pub(super) fn millis_of(n: i64, rate: (i64, i64)) -> i64 {
    (n * 1_000 * rate.1 + rate.0 / 2) / rate.0
}

/// H.264 at `rate` with a keyframe every `gop` pictures, and AAC at 48 kHz, in the order of their
/// times, without their tracks.
pub(super) fn programme(from: i64, seconds: i64, rate: (i64, i64), gop: i64) -> Vec<Item> {
    let pictures = (0..).map(|n| (millis_of(n, rate), n % gop == 0));
    let pictures = pictures.map(|(at, keyframe)| (from + at, Some(keyframe)));
    let sounds = (0..).map(|n| (from + millis_of(n * 1_024, (48_000, 1)), None));
    let until = from + seconds * 1_000;
    let mut all: Vec<_> = pictures.take_while(|(at, _)| *at < until).collect();
    all.extend(sounds.take_while(|(at, _)| *at < until));
    all.sort_by_key(|(at, keyframe)| (*at, keyframe.is_none()));
    let item = |(at, keyframe): (i64, Option<bool>)| match keyframe {
        Some(keyframe) => picture(at, keyframe),
        None => sound(at),
    };
    all.into_iter().map(item).collect()
}

/// Both tracks, and [`programme`].
pub(super) fn broadcast(seconds: i64, rate: (i64, i64), gop: i64) -> Vec<Item> {
    let mut items = vec![h264(), aac()];
    items.extend(programme(0, seconds, rate, gop));
    items
}

pub(super) const fn span(millis: i64) -> Fragmentation {
    Fragmentation {
        span: Span::from_millis(millis),
    }
}
