//! Items of a stream, made from a fuzzer's bytes: tracks that are announced, change, and turn into something else; samples at
//! times that advance, repeat and jump; epochs.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use media::codec::h264::AvcConfig;
use media::codec::hevc::HevcConfig;
use media::codec::opus;
use media::{Codec, Framing, Item, Kind, Sample, Script, Span, Timestamp, Track, TrackId};

/// Maximum number of items in one script: more samples than any packager collects before it writes.
const ITEMS_MAX: usize = 6_000;
/// Maximum length of a sample, or of a configuration, in bytes.
const BYTES_MAX: u16 = 400;
/// Maximum number of repetitions of one sample, at even steps of time.
const REPEATS_MAX: u16 = 5_000;
/// Track numbers: some of them beyond the most that is carried.
const TRACKS: u8 = 20;

const CODECS: [Codec; 14] = [
    Codec::H264,
    Codec::Hevc,
    Codec::Av1,
    Codec::Vp9,
    Codec::Vp8,
    Codec::Aac,
    Codec::Mp3,
    Codec::Opus,
    Codec::Flac,
    Codec::Ac3,
    Codec::Eac3,
    Codec::Vorbis,
    Codec::Speex,
    Codec::UNKNOWN,
];

/// High profile, 320×180, from x264.
const SPS: &[u8] = &[
    0x67, 0x64, 0x00, 0x0D, 0xAC, 0xD9, 0x41, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0x99, 0x60,
];
const PPS: &[u8] = &[0x68, 0xEF, 0xBC, 0xB0];

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
const HEVC_PPS: &[u8] = &[0x44, 0x01, 0xC1, 0x72, 0xB4, 0x62, 0x40];

/// Main profile, 320×180, from SVT-AV1.
const AV1_RECORD: &[u8] = &[
    0x81, 0x00, 0x0C, 0x00, 0x0A, 0x0B, 0x02, 0x00, 0x00, 0x05, 0x21, 0xE7, 0xF6, 0x60, 0x17, 0xC0,
    0x02,
];

/// AAC-LC, 48 kHz, stereo.
const AAC: &[u8] = &[0x11, 0x90];

/// First bytes of frames: a slice behind its length, one behind a start code, and those of VP9, MP3, ADTS, AC-3, E-AC-3 and
/// Opus.
const HEADS: [&[u8]; 9] = [
    &[0, 0, 0, 5, 0x65, 1, 2, 3, 4],
    &[0, 0, 0, 5, 0x26, 1, 2, 3, 4],
    &[0, 0, 1, 0x26, 1],
    &[0x82, 0x49, 0x83, 0x42, 0x00, 0x13, 0xF0, 0x0B, 0x36, 0x00],
    &[0xFF, 0xFB, 0x90, 0x64],
    &[0xFF, 0xF1, 0x4C, 0x80, 0x20, 0x1F, 0xFC],
    &[0x0B, 0x77, 0, 0, 0x14, 0x40, 0x43, 0xFF],
    &[0x0B, 0x77, 0x00, 0x03, 0x34, 0x80, 0, 0],
    &[0xFC],
];

/// Returns the items that `data` describes.
pub(crate) fn items(data: &[u8]) -> Vec<Item> {
    let mut script = Reader {
        input: Unstructured::new(data),
        items: Vec::new(),
        now: 0,
    };
    while !script.input.is_empty() && script.items.len() < ITEMS_MAX && script.step().is_ok() {}
    script.items
}

/// Returns the number of bytes that an item contains.
pub(crate) fn bytes_of(item: &Item) -> usize {
    match item {
        Item::Sample(sample) => sample.data.len(),
        Item::Track(track) => track.config.len(),
        _ => 0,
    }
}

struct Reader<'a> {
    input: Unstructured<'a>,
    items: Vec<Item>,
    /// Current time in milliseconds.
    now: i64,
}

impl Reader<'_> {
    fn step(&mut self) -> Result<()> {
        let item = match self.input.int_in_range(0..=15_u8)? {
            0 | 1 => Item::Track(Arc::new(self.track()?)),
            2 => Item::Epoch,
            3 => Item::Metadata(Script {
                at: Timestamp::ZERO,
                body: Bytes::from_static(b"onMetaData videocodecid audiocodecid"),
            }),
            4 => return self.repeat(),
            _ => Item::Sample(self.sample()?),
        };
        self.items.push(item);
        Ok(())
    }

    fn track(&mut self) -> Result<Track> {
        let codec = *self.input.choose(&CODECS)?;
        let is_picture = matches!(
            codec,
            Codec::H264 | Codec::Hevc | Codec::Av1 | Codec::Vp8 | Codec::Vp9
        );
        let is_odd = self.input.ratio(1, 16)?;
        let id = self.id()?;
        let framing = match self.input.ratio(1, 4)? {
            true => Framing::SelfFramed,
            false => Framing::Bare,
        };
        Ok(Track {
            id,
            kind: match is_picture == is_odd {
                true => Kind::Audio,
                false => Kind::Video,
            },
            codec,
            framing,
            config: self.config(codec)?,
            sample_rate: *self
                .input
                .choose(&[0, 8_000, 22_050, 44_100, 48_000, u32::MAX])?,
            channels: self.input.arbitrary()?,
            flv: None,
        })
    }

    /// Returns the codec's usual configuration, that with a bit flipped, none, or noise.
    fn config(&mut self, codec: Codec) -> Result<Bytes> {
        let usual = match codec {
            Codec::H264 => AvcConfig::write(&[SPS], &[PPS]).unwrap_or_default(),
            Codec::Hevc => {
                HevcConfig::write(&[HEVC_VPS], &[HEVC_SPS], &[HEVC_PPS]).unwrap_or_default()
            }
            Codec::Av1 => AV1_RECORD.to_vec(),
            Codec::Aac => AAC.to_vec(),
            Codec::Opus => opus::head(2).to_vec(),
            _ => Vec::new(),
        };
        match self.input.int_in_range(0..=7_u8)? {
            0..=4 => Ok(usual.into()),
            5 => {
                let mut turned = usual;
                let at: usize = self
                    .input
                    .int_in_range(0..=turned.len().saturating_sub(1))?;
                if let Some(byte) = turned.get_mut(at) {
                    *byte ^= 1 << self.input.int_in_range(0..=7_u8)?;
                }
                Ok(turned.into())
            }
            6 => Ok(Bytes::new()),
            _ => self.bytes(&[]),
        }
    }

    fn sample(&mut self) -> Result<Sample> {
        let id = self.id()?;
        self.now = match self.input.int_in_range(0..=31_u8)? {
            0 => self.input.arbitrary()?,
            1 => self
                .now
                .saturating_add(self.input.arbitrary::<i16>()?.into()),
            _ => self.now.saturating_add(self.input.int_in_range(0..=60)?),
        };
        let composition = match self.input.int_in_range(0..=15_u8)? {
            0 => self.input.arbitrary()?,
            1..=4 => self.input.int_in_range(-50..=200)?,
            _ => 0,
        };
        let head = self.input.int_in_range(0..=HEADS.len())?;
        let dts = Timestamp::from_millis(self.now);
        Ok(Sample {
            track: id,
            dts,
            pts: Timestamp::from_millis(self.now.saturating_add(composition)),
            duration: Span::ZERO,
            keyframe: self.input.arbitrary()?,
            data: self.bytes(HEADS.get(head).copied().unwrap_or_default())?,
            flv: None,
        })
    }

    /// Repeats the last sample a number of times.
    fn repeat(&mut self) -> Result<()> {
        let count = self.input.int_in_range(0..=REPEATS_MAX)?;
        let step = self.input.int_in_range(0..=40_i64)?;
        let is_keyframe = self.input.arbitrary()?;
        let Some(Item::Sample(last)) = self.items.last().cloned() else {
            return Ok(());
        };
        for _ in 0..usize::from(count).min(ITEMS_MAX.saturating_sub(self.items.len())) {
            self.now = self.now.saturating_add(step);
            let at = Timestamp::from_millis(self.now);
            self.items.push(Item::Sample(Sample {
                dts: at,
                pts: at,
                keyframe: is_keyframe,
                ..last.clone()
            }));
        }
        Ok(())
    }

    /// Returns a track number, mostly one of the first three.
    fn id(&mut self) -> Result<TrackId> {
        let id = self.input.arbitrary::<u8>()?;
        Ok(TrackId(if id < 0xE0 { id % 3 } else { id % TRACKS }))
    }

    fn bytes(&mut self, head: &[u8]) -> Result<Bytes> {
        let wanted: usize = self.input.int_in_range(0..=BYTES_MAX)?.into();
        let count = wanted.min(self.input.len());
        Ok([head, self.input.bytes(count)?].concat().into())
    }
}
