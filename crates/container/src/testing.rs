//! Fixtures and checks for the formats' tests: tracks, samples, real clips, and readers of what was made.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use media::codec::mpeg_audio::FrameHeader;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};
use testkit::{Clip, Tool};

use crate::frames::{self, Syntax};
use crate::{Closed, Walker, flv};

/// Parameter sets of H.264, High profile, 320×180, from x264.
pub(crate) const SPS: &[u8] = &[
    0x67, 0x64, 0x00, 0x0D, 0xAC, 0xD9, 0x41, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0x99, 0x60,
];
pub(crate) const PPS: &[u8] = &[0x68, 0xEF, 0xBC, 0xB0];

/// Baseline, 320×180.
pub(crate) const SPS_BASELINE: &[u8] = &[
    0x67, 0x42, 0xC0, 0x0C, 0xD9, 0x01, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10,
    0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0xA4, 0x80,
];

/// VPS, SPS and PPS of HEVC, Main profile, 320×180, from x265.
pub(crate) const HEVC_SETS: [&[u8]; 3] = [
    &[
        0x40, 0x01, 0x0C, 0x01, 0xFF, 0xFF, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00,
        0x03, 0x00, 0x00, 0x03, 0x00, 0x3C, 0x95, 0x98, 0x09,
    ],
    &[
        0x42, 0x01, 0x01, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00,
        0x03, 0x00, 0x3C, 0xA0, 0x0A, 0x08, 0x0B, 0x9F, 0x79, 0x65, 0x66, 0x92, 0x4C, 0xAF, 0x01,
        0x68, 0x08, 0x00, 0x00, 0x03, 0x00, 0x08, 0x00, 0x00, 0x03, 0x00, 0xC8, 0x40,
    ],
    &[0x44, 0x01, 0xC1, 0x72, 0xB4, 0x62, 0x40],
];

/// Record of AV1, Main profile, 320×180, from SVT-AV1; a sequence header from the fifth byte on.
pub(crate) const AV1_RECORD: &[u8] = &[
    0x81, 0x00, 0x0C, 0x00, 0x0A, 0x0B, 0x02, 0x00, 0x00, 0x05, 0x21, 0xE7, 0xF6, 0x60, 0x17, 0xC0,
    0x02,
];

/// A keyframe of VP8, and the beginning of another frame.
pub(crate) const VP8_KEY: &[u8] = &[0x50, 0x05, 0x00, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xB4, 0x00];
/// A keyframe of VP9 of 320×180, profile 0, from libvpx.
pub(crate) const VP9_KEY: &[u8] = &[0x82, 0x49, 0x83, 0x42, 0x00, 0x13, 0xF0, 0x0B, 0x36, 0x00];

/// The first bare track of its kind.
pub(crate) fn track(codec: Codec, config: &[u8]) -> Track {
    use Codec::{Av1, H264, Hevc, Vp8, Vp9, Vvc};
    let kind = match codec {
        H264 | Hevc | Av1 | Vp8 | Vp9 | Vvc => Kind::Video,
        _ => Kind::Audio,
    };
    Track {
        config: Bytes::copy_from_slice(config),
        ..Track::new(TrackId::first(kind), kind, codec, Framing::Bare)
    }
}

pub(crate) fn sample(
    track: TrackId,
    at: Timestamp,
    keyframe: bool,
    data: impl AsRef<[u8]>,
) -> Sample {
    let data = Bytes::copy_from_slice(data.as_ref());
    Sample {
        keyframe,
        ..Sample::frame(track, at, Span::ZERO, data)
    }
}

/// Bytes without start codes and escapes.
pub(crate) fn fill(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 | 0x80).collect()
}

/// The items of a clip in FLV.
pub(crate) fn of_flv(clip: Clip, seconds: u32) -> Vec<Item> {
    read_flv(&clip.bytes(seconds))
}

pub(crate) fn read_flv(file: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let read = flv::Reader::default().push(file, &mut items);
    read.expect("it is clean");
    items
}

/// The items of a clip of audio alone.
pub(crate) fn of_frames(clip: Clip, syntax: Syntax, seconds: u32) -> Vec<Item> {
    let file = clip.bytes(seconds);
    let mut items = Vec::new();
    let mut demuxer = frames::Demuxer::new(syntax);
    demuxer.push(&file, &mut items);
    demuxer.finish(&mut items);
    items
}

/// A frame of MPEG audio with this header.
pub(crate) fn mp3_frame(bits: u32, fill: u8) -> Vec<u8> {
    let header = FrameHeader::parse(&bits.to_be_bytes()).expect("a valid header");
    let mut frame = vec![fill; header.frame_bytes()];
    frame[..4].copy_from_slice(&bits.to_be_bytes());
    frame
}

/// A frame of AAC in ADTS.
pub(crate) fn adts_frame(config: [u8; 2], payload: usize, fill: u8) -> Vec<u8> {
    let writer = crate::adts::Writer::new(&config).expect("a valid configuration");
    let mut frame = writer.header(payload).expect("short enough").to_vec();
    frame.resize(frame.len() + payload, fill);
    frame
}

/// An MP4 file that ffmpeg makes.
pub(crate) fn encoded(arguments: &str) -> tempfile::TempPath {
    let path = temporary(b"");
    let ffmpeg = Tool::ffmpeg().env("SVT_LOG", "1").arg("-y");
    let ffmpeg = ffmpeg.args(arguments.split_whitespace()).arg(&path);
    let _ = ffmpeg.run(Duration::from_secs(120));
    path
}

/// An MP4 file that is removed when it is dropped.
pub(crate) fn temporary(bytes: &[u8]) -> tempfile::TempPath {
    let mut builder = tempfile::Builder::new();
    let file = builder.suffix(".mp4").tempfile();
    let mut file = file.expect("a temporary file");
    file.write_all(bytes).expect("written");
    file.into_temp_path()
}

/// A tag of FLV with its trailer.
pub(crate) fn flv_tag(kind: u8, millis: u32, body: &[u8]) -> Vec<u8> {
    let [extended, time @ ..] = millis.to_be_bytes();
    let [_, size @ ..] = (body.len() as u32).to_be_bytes();
    let head = [&[kind][..], &size, &time, &[extended, 0, 0, 0]].concat();
    let trailer = (11 + body.len() as u32).to_be_bytes();
    [&head[..], body, &trailer].concat()
}

/// `input` in pieces of these lengths, over and over.
pub(crate) fn pieces<'a>(mut input: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if input.is_empty() {
            break;
        }
        let (piece, rest) = input.split_at((*length).min(input.len()));
        pieces.push(piece);
        input = rest;
    }
    pieces
}

/// The end of a walk through a finished file.
pub(crate) fn closed(mut walk: impl Walker, file: &[u8]) -> Closed {
    while let Some(wanted) = walk.wants() {
        walk.take(&file[wanted.start as usize..wanted.end as usize]);
    }
    walk.close()
}

pub(crate) fn samples(items: &[Item]) -> Vec<&Sample> {
    let samples = items.iter().filter_map(|item| match item {
        Item::Sample(sample) => Some(sample),
        _ => None,
    });
    samples.collect()
}

pub(crate) fn tracks(items: &[Item]) -> Vec<&Track> {
    let tracks = items.iter().filter_map(|item| match item {
        Item::Track(track) => Some(&**track),
        _ => None,
    });
    tracks.collect()
}

/// Header and sample bytes, in order.
pub(crate) fn stream_bytes(items: &[Item]) -> Vec<u8> {
    let parts = items.iter().map(|item| match item {
        Item::Header(bytes) => &bytes[..],
        Item::Sample(sample) => &sample.data[..],
        _ => &[],
    });
    parts.collect::<Vec<_>>().concat()
}

/// The frames of an ID3v2.4 tag: names and contents.
pub(crate) fn id3_frames(tag: &[u8]) -> Vec<(String, Vec<u8>)> {
    let size = |at: &[u8]| {
        at[..4].iter().fold(0, |size, byte| {
            assert!(*byte < 0x80, "a size has seven bits to a byte");
            size << 7 | usize::from(*byte)
        })
    };
    assert_eq!(tag[..6], *b"ID3\x04\x00\x00");
    assert_eq!(size(&tag[6..]), tag.len() - 10);
    let mut rest = &tag[10..];
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let (head, behind) = rest.split_at(10);
        let (content, next) = behind.split_at(size(&head[4..]));
        let name = String::from_utf8(head[..4].to_vec()).expect("a name");
        frames.push((name, content.to_vec()));
        rest = next;
    }
    frames
}
