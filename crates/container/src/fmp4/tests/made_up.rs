//! Made-up streams.

use bytes::Bytes;
use media::codec::h264::AvcConfig;
use media::codec::hevc::HevcConfig;
use media::{Codec, Item, Script, Span, Timestamp, TrackId};

use crate::testing::{self, HEVC_SETS};
pub(super) use crate::testing::{
    AV1_RECORD, SPS_BASELINE as SPS_180P, VP9_KEY, of_flv, temporary, track,
};

/// High profile, 1280×720, from x264.
pub(super) const SPS_720P: &[u8] = &[
    0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
];
const PPS: &[u8] = &[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0];

/// AAC-LC, 44.1 kHz and 48 kHz, stereo.
pub(super) const AAC_44: &[u8] = &[0x12, 0x10];
pub(super) const AAC_48: &[u8] = &[0x11, 0x90];

pub(super) fn avc_record(sps: &[u8]) -> Vec<u8> {
    AvcConfig::write(&[sps], &[PPS]).expect("readable parameter sets")
}

pub(super) fn hevc_record() -> Vec<u8> {
    let [vps, sps, pps] = HEVC_SETS;
    HevcConfig::write(&[vps], &[sps], &[pps]).expect("readable parameter sets")
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

/// A video frame at `millis` whose bytes state its time.
pub(super) fn picture(millis: i64, keyframe: bool) -> Item {
    picture_of(format!("picture {millis}").as_bytes(), millis, keyframe)
}

pub(super) fn picture_of(data: &[u8], millis: i64, keyframe: bool) -> Item {
    let at = Timestamp::from_millis(millis);
    sample(TrackId::VIDEO, at, keyframe, data)
}

/// An audio frame.
pub(super) fn audio(millis: i64) -> Item {
    audio_of(format!("sound {millis}").as_bytes(), millis)
}

pub(super) fn audio_of(data: &[u8], millis: i64) -> Item {
    sample(TrackId::AUDIO, Timestamp::from_millis(millis), true, data)
}

pub(super) fn sample(track: TrackId, at: Timestamp, keyframe: bool, data: &[u8]) -> Item {
    Item::Sample(testing::sample(track, at, keyframe, data))
}

/// A frame of MP3: 128 kb/s, 44.1 kHz, stereo.
pub(super) fn mp3_frame() -> Vec<u8> {
    testing::mp3_frame(0xFFFB_9064, 0)
}

/// The time of item `n` at `rate` (numerator, denominator) a second, as RTMP rounds it.
pub(super) fn millis_of(n: i64, rate: (i64, i64)) -> i64 {
    (n * 1_000 * rate.1 + rate.0 / 2) / rate.0
}

/// H.264 at `rate` with a keyframe every `gop` frames, and AAC at 48 kHz, in the order of their times, without their
/// tracks.
pub(super) fn programme(from: i64, seconds: i64, rate: (i64, i64), gop: i64) -> Vec<Item> {
    let pictures = (0..).map(|n| (millis_of(n, rate), n % gop == 0));
    let pictures = pictures.map(|(at, keyframe)| (from + at, Some(keyframe)));
    let audio_frames = (0..).map(|n| (from + millis_of(n * 1_024, (48_000, 1)), None));
    let until = from + seconds * 1_000;
    let mut all: Vec<_> = pictures.take_while(|(at, _)| *at < until).collect();
    all.extend(audio_frames.take_while(|(at, _)| *at < until));
    all.sort_by_key(|(at, keyframe)| (*at, keyframe.is_none()));
    let item = |(at, keyframe): (i64, Option<bool>)| match keyframe {
        Some(keyframe) => picture(at, keyframe),
        None => audio(at),
    };
    all.into_iter().map(item).collect()
}

/// Both tracks, and [`programme`].
pub(super) fn broadcast(seconds: i64, rate: (i64, i64), gop: i64) -> Vec<Item> {
    let mut items = vec![h264(), aac()];
    items.extend(programme(0, seconds, rate, gop));
    items
}

pub(super) const fn span(millis: i64) -> Span {
    Span::from_millis(millis)
}
