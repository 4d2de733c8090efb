//! The output is read again by a strict demuxer, and by available players.

mod audio;
mod codecs;
mod demuxer;
mod events;
mod foreign;
mod hostile;
mod joins;
mod packets;
mod recorded;
mod segments;
mod tables;
mod timing;

use std::sync::Arc;

use media::codec::h264::AvcConfig;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

use super::{Muxer, PACKET_BYTES, PacketSink};
use crate::testing::{self, PPS, SPS, fill, track};
use demuxer::{Demuxed, Pes, demux};

const H264: u8 = 0x1B;
const AAC: u8 = 0x0F;

/// A log, and where its units begin.
#[derive(Default)]
struct Recorder {
    bytes: Vec<u8>,
    units: Vec<Recorded>,
    /// Offset of the open unit.
    unit_end: usize,
}

struct Recorded {
    begins: usize,
    at: Timestamp,
    is_join: bool,
}

impl PacketSink for Recorder {
    fn packet(&mut self, packet: &[u8; PACKET_BYTES]) {
        self.bytes.extend_from_slice(packet);
    }

    fn end_unit(&mut self, at: Timestamp, is_join: bool) {
        let begins = self.unit_end;
        assert!(begins < self.bytes.len(), "a unit has bytes");
        let last = self.units.last().map(|unit| unit.at);
        assert!(last.is_none_or(|last| last <= at), "units go forward");
        assert!(!self.units.is_empty() || is_join, "begins at a join");
        self.units.push(Recorded {
            begins,
            at,
            is_join,
        });
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

    /// Returns what a demuxer finds in the output for `items`.
    fn demuxed(items: &[Item]) -> Demuxed {
        Self::of(items).demux()
    }

    /// Returns the units at which listeners may start.
    fn joins(&self) -> Vec<&Recorded> {
        let units = self.units.iter();
        units.filter(|unit| unit.is_join).collect()
    }
}

fn announce(track: Track) -> Item {
    Item::Track(Arc::new(track))
}

/// H.264 with a record of its parameter sets.
fn h264() -> Track {
    let record = AvcConfig::write(&[SPS], &[PPS]).expect("readable sets");
    track(Codec::H264, &record)
}

/// AAC-LC, 48 kHz, stereo.
fn aac() -> Track {
    track(Codec::Aac, &[0x11, 0x90])
}

/// Track of a codec that frames its audio itself.
fn framed(codec: Codec) -> Track {
    Track {
        framing: Framing::SelfFramed,
        ..track(codec, b"")
    }
}

/// The announcements of both.
fn announced() -> Vec<Item> {
    vec![announce(h264()), announce(aac())]
}

fn sample(id: TrackId, at: Timestamp, keyframe: bool, data: impl AsRef<[u8]>) -> Item {
    Item::Sample(testing::sample(id, at, keyframe, data))
}

/// Counts the AAC frames of each packet.
fn frames_in<'a>(packets: impl IntoIterator<Item = &'a Pes>) -> Vec<usize> {
    let packets = packets.into_iter();
    packets.map(|pes| codecs::adts(pes).len()).collect()
}

/// NAL units behind lengths of four bytes.
fn prefixed(units: &[&[u8]]) -> Vec<u8> {
    let length = |unit: &[u8]| (unit.len() as u32).to_be_bytes();
    let units = units.iter().map(|unit| [&length(unit)[..], unit].concat());
    units.collect::<Vec<_>>().concat()
}

/// A slice, of a keyframe or not.
fn slice(keyframe: bool, length: usize) -> Vec<u8> {
    let first = if keyframe { 0x65 } else { 0x41 };
    [&[first][..], &fill(length)].concat()
}

fn picture(millis: i64, keyframe: bool) -> Item {
    picture_at(Timestamp::from_millis(millis), keyframe)
}

fn picture_at(at: Timestamp, keyframe: bool) -> Item {
    let data = prefixed(&[&slice(keyframe, 900)]);
    sample(TrackId::VIDEO, at, keyframe, data)
}

/// Presented when it is said, and not when it is decoded.
fn presented(picture: Item, millis: i64) -> Item {
    let Item::Sample(sample) = picture else {
        unreachable!("a picture is a sample")
    };
    let pts = Timestamp::from_millis(millis);
    Item::Sample(Sample { pts, ..sample })
}

/// Frame `number` of AAC at 48 kHz.
fn frame(number: u64) -> Item {
    let at = Timestamp::ZERO + Span::from_samples(1_024 * number, 48_000);
    sample(TrackId::AUDIO, at, true, fill(170))
}

/// Both kinds, `seconds` of them from `from` on, in the order of their times: 25 frames a second, each tenth a
/// keyframe.
fn both(from: Timestamp, seconds: i64) -> Vec<Item> {
    let pictures = (0..25 * seconds).map(|n| {
        let at = from + Span::from_millis(40 * n);
        (at, picture_at(at, n % 10 == 0))
    });
    let frames = (0..seconds as u64 * 48_000 / 1_024).map(|n| {
        let at = from + Span::from_samples(n * 1_024, 48_000);
        (at, sample(TrackId::AUDIO, at, true, fill(170)))
    });
    let mut items: Vec<_> = pictures.chain(frames).collect();
    items.sort_by_key(|(at, _)| *at);
    items.into_iter().map(|(_, item)| item).collect()
}

/// [`announced`], and [`both`] from zero on.
fn film(seconds: i64) -> Vec<Item> {
    [announced(), both(Timestamp::ZERO, seconds)].concat()
}

/// So many frames of AAC alone.
fn radio(frames: u64) -> Vec<Item> {
    let announcement = std::iter::once(announce(aac()));
    announcement.chain((0..frames).map(frame)).collect()
}
