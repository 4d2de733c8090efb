//! The output is read again by a strict demuxer, and by available players.

mod codecs;
mod demuxer;
mod events;
mod foreign;
mod hostile;
mod joins;
mod packets;
mod recorded;
mod segments;
mod sound;
mod tables;
mod timing;

use std::sync::Arc;

use bytes::Bytes;
use media::codec::h264::AvcConfig;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

use super::{JoinPoint, Muxer, PACKET_BYTES, Sink};
use demuxer::{Demuxed, demux};

const H264: u8 = 0x1B;
const AAC: u8 = 0x0F;

/// High profile, 320×180, from x264.
const SPS: &[u8] = &[
    0x67, 0x64, 0x00, 0x0D, 0xAC, 0xD9, 0x41, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0x99, 0x60,
];
const PPS: &[u8] = &[0x68, 0xEF, 0xBC, 0xB0];

/// A log, and where its units begin.
#[derive(Default)]
struct Recorder {
    bytes: Vec<u8>,
    units: Vec<Recorded>,
    /// Where the open unit begins.
    unit_end: usize,
}

struct Recorded {
    begins: usize,
    at: Timestamp,
    join: Option<JoinPoint>,
}

impl Sink for Recorder {
    fn packet(&mut self, packet: &[u8; PACKET_BYTES]) {
        self.bytes.extend_from_slice(packet);
    }

    fn end_unit(&mut self, at: Timestamp, join: Option<JoinPoint>) {
        let begins = self.unit_end;
        assert!(begins < self.bytes.len(), "a unit has bytes");
        let last = self.units.last().map(|unit| unit.at);
        assert!(last.is_none_or(|last| last <= at), "units go forward");
        assert!(!self.units.is_empty() || join.is_some(), "begins at a join");
        self.units.push(Recorded { begins, at, join });
        self.unit_end = self.bytes.len();
    }
}

impl Recorder {
    /// The output for `items`, to the last frame.
    fn of(items: &[Item]) -> Self {
        let mut recorder = Self::default();
        let mut muxer = Muxer::default();
        for item in items {
            muxer.push(item, &mut recorder);
        }
        muxer.flush(&mut recorder);
        assert_eq!(recorder.unit_end, recorder.bytes.len());
        recorder
    }

    fn demux(&self) -> Demuxed {
        demux(&self.bytes)
    }

    /// Where listeners may start.
    fn joins(&self) -> Vec<&Recorded> {
        let units = self.units.iter();
        units.filter(|unit| unit.join.is_some()).collect()
    }
}

fn track(id: TrackId, codec: Codec, framing: Framing, config: impl Into<Bytes>) -> Track {
    let is_picture = matches!(codec, Codec::H264 | Codec::Hevc | Codec::Av1 | Codec::Vp9);
    Track {
        id,
        kind: if is_picture { Kind::Video } else { Kind::Audio },
        codec,
        framing,
        config: config.into(),
        sample_rate: 0,
        channels: 0,
        flv: None,
    }
}

fn announce(track: Track) -> Item {
    Item::Track(Arc::new(track))
}

/// H.264 with a record of its parameter sets.
fn h264() -> Track {
    let record = AvcConfig::write(&[SPS], &[PPS]).expect("readable sets");
    track(TrackId::VIDEO, Codec::H264, Framing::Bare, record)
}

/// AAC-LC, 48 kHz, stereo.
fn aac() -> Track {
    track(TrackId::AUDIO, Codec::Aac, Framing::Bare, &[0x11, 0x90][..])
}

fn sample(id: TrackId, at: Timestamp, keyframe: bool, data: impl Into<Bytes>) -> Item {
    Item::Sample(Sample {
        track: id,
        dts: at,
        pts: at,
        duration: Span::ZERO,
        keyframe,
        data: data.into(),
        flv: None,
    })
}

/// NAL units behind lengths of four bytes.
fn prefixed(units: &[&[u8]]) -> Vec<u8> {
    let lengths = units.iter().map(|unit| (unit.len() as u32).to_be_bytes());
    let parts = lengths.zip(units);
    parts
        .flat_map(|(length, unit)| [&length[..], unit].concat())
        .collect()
}

/// Bytes without start codes and escapes.
fn fill(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 | 0x80).collect()
}

/// A slice, of a keyframe or not.
fn slice(keyframe: bool, length: usize) -> Vec<u8> {
    let first = if keyframe { 0x65 } else { 0x41 };
    [&[first][..], &fill(length)].concat()
}

fn picture(millis: i64, keyframe: bool) -> Item {
    let data = prefixed(&[&slice(keyframe, 900)]);
    sample(
        TrackId::VIDEO,
        Timestamp::from_millis(millis),
        keyframe,
        data,
    )
}

/// Frame `number` of AAC at 48 kHz.
fn frame(number: u64) -> Item {
    let at = Timestamp::ZERO + Span::from_samples(1_024 * number, 48_000);
    sample(TrackId::AUDIO, at, true, fill(170))
}

/// Both kinds, `seconds` of them from `from` on, in the order of their times: 25 pictures a second, each tenth
/// a keyframe.
fn both(from: Timestamp, seconds: i64) -> Vec<Item> {
    let pictures = (0..25 * seconds).map(|n| (40 * n, n));
    let mut items: Vec<(Timestamp, Item)> = pictures
        .map(|(millis, n)| (from + Span::from_millis(millis), n))
        .map(|(at, n)| {
            let data = prefixed(&[&slice(n % 10 == 0, 900)]);
            (at, sample(TrackId::VIDEO, at, n % 10 == 0, data))
        })
        .collect();
    let frames =
        (0..seconds as u64 * 48_000 / 1_024).map(|n| from + Span::from_samples(n * 1_024, 48_000));
    items.extend(frames.map(|at| (at, sample(TrackId::AUDIO, at, true, fill(170)))));
    items.sort_by_key(|(at, _)| *at);
    items.into_iter().map(|(_, item)| item).collect()
}
