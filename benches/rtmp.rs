//! The cost of RTMP per message: read from a publisher, and written once for all players.

use std::hint::black_box;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use container::flv::{self, Muxer, Opening, Selection, Tag};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use media::{Codec, Framing, Item, Sample, Span, Timestamp, Track, TrackId};
use rtmp::{
    amf0::{Decoder, Encoder},
    chunk::{self, Header, Limits, Reader},
    message::Kind,
};

/// Bytes per read from a socket.
const READ_BYTES: usize = 64 << 10;

/// Returns ten seconds of 1 Mb/s video at 30 frames per second, a keyframe every two seconds, and 128 kb/s audio at 43 frames
/// per second, as ffmpeg interleaves them.
fn stream(chunk_size: u32) -> (BytesMut, usize) {
    let mut bytes = BytesMut::new();
    let header = |csid, kind, timestamp| Header {
        csid,
        timestamp,
        kind,
        stream_id: 1,
    };
    let size = chunk_size.to_be_bytes();
    chunk::write(&header(2, Kind::SetChunkSize, 0), &size, 128, &mut bytes);
    let video: Vec<u8> = (0..30_000_u32).map(|n| (n * 31) as u8).collect();
    let mut messages = 0;
    let mut audio_time = 0.0;
    for frame in 0..300_u32 {
        let time = frame * 100 / 3;
        while audio_time <= f64::from(time) {
            let header = header(4, Kind::Audio, audio_time as u32);
            chunk::write(&header, &video[..372], chunk_size, &mut bytes);
            audio_time += 23.22;
            messages += 1;
        }
        let length = if frame % 60 == 0 { 30_000 } else { 3_728 };
        let header = header(6, Kind::Video, time);
        chunk::write(&header, &video[..length], chunk_size, &mut bytes);
        messages += 1;
    }
    (bytes, messages)
}

fn chunks(c: &mut Criterion) {
    let mut group = c.benchmark_group("rtmp_chunk_decode");
    for chunk_size in [128, 65_536] {
        let (bytes, messages) = stream(chunk_size);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format!("chunk_size_{chunk_size}"), |b| {
            b.iter(|| {
                let mut reader = Reader::new(Limits::PUBLISHER);
                let mut count = 0;
                for mut read in bytes.chunks(READ_BYTES) {
                    while let Ok(Some(message)) = reader.read(&mut read) {
                        black_box(&message);
                        count += 1;
                    }
                }
                assert_eq!(count, messages);
            });
        });
    }
    group.finish();
}

fn write(c: &mut Criterion) {
    let payload = vec![7; 4_096];
    let mut group = c.benchmark_group("rtmp_chunk_encode");
    group.throughput(Throughput::Bytes(payload.len() as u64));
    let mut output = BytesMut::new();
    group.bench_function("chunk_size_65536", |b| {
        b.iter(|| {
            output.clear();
            let header = Header {
                csid: 6,
                timestamp: 1_000,
                kind: Kind::Video,
                stream_id: 1,
            };
            chunk::write(black_box(&header), &payload, 65_536, &mut output);
            black_box(&output);
        });
    });
    group.finish();
}

/// A lane whose log discards its bytes at once, with the framing of RTMP.
#[derive(Default)]
struct Lane(Vec<u8>);

impl Lane {
    fn write(tag: &Tag<'_>, output: &mut Vec<u8>) {
        let header = Header {
            csid: 6,
            timestamp: tag.at.millis() as u32,
            kind: Kind::Video,
            stream_id: 1,
        };
        let parts = tag.parts();
        chunk::write_parts(&header, &parts, chunk::CHUNK_SIZE_SHARED, &mut |bytes| {
            output.extend_from_slice(bytes);
        });
    }
}

impl flv::TagSink for Lane {
    type Preamble = Arc<[u8]>;

    fn tag(&mut self, tag: &Tag<'_>) {
        Self::write(tag, &mut self.0);
    }

    fn preamble(&mut self, opening: &Opening<'_>) -> Arc<[u8]> {
        let mut bytes = Vec::new();
        opening.tags(&mut |tag| Self::write(tag, &mut bytes));
        bytes.into()
    }

    fn end_unit(&mut self, _: Timestamp, join: Option<Arc<[u8]>>) {
        black_box(join);
    }
}

fn track(id: TrackId, kind: media::Kind, codec: Codec) -> Item {
    Item::Track(Arc::new(Track {
        id,
        kind,
        codec,
        framing: Framing::Bare,
        config: Bytes::from_static(&[0x12, 0x10]),
        sample_rate: 0,
        channels: 0,
        flv: None,
    }))
}

fn sample(track: TrackId, keyframe: bool, length: usize) -> Item {
    let at = Timestamp::from_millis(1_000_000);
    Item::Sample(Sample {
        track,
        dts: at,
        pts: at,
        duration: Span::ZERO,
        keyframe,
        data: vec![0x5A; length].into(),
        flv: None,
    })
}

/// Measures the way from a sample to the bytes of its message: the lane's whole work, except for the log.
fn package(c: &mut Criterion) {
    let pictures = track(TrackId::VIDEO, media::Kind::Video, Codec::H264);
    let audio_frames = track(TrackId::AUDIO, media::Kind::Audio, Codec::Aac);
    let both = [pictures, audio_frames];
    let mut group = c.benchmark_group("rtmp_package");
    for (name, tracks, item, length) in [
        (
            "sound_alone",
            &both[1..],
            sample(TrackId::AUDIO, true, 372),
            372,
        ),
        (
            "picture",
            &both,
            sample(TrackId::VIDEO, false, 4_096),
            4_096,
        ),
        (
            "keyframe",
            &both,
            sample(TrackId::VIDEO, true, 200_000),
            200_000,
        ),
    ] {
        let mut lane = Lane::default();
        let mut muxer = Muxer::new(Selection::ALL);
        for item in tracks.iter().chain([&sample(TrackId::VIDEO, true, 1)]) {
            muxer.push(item, &mut lane);
        }
        group.throughput(Throughput::Bytes(length));
        group.bench_function(name, |b| {
            b.iter(|| {
                lane.0.clear();
                muxer.push(black_box(&item), &mut lane);
                assert!(lane.0.len() as u64 > length);
            });
        });
    }
    group.finish();
}

fn amf0(c: &mut Criterion) {
    let mut connect = BytesMut::new();
    let mut encoder = Encoder::new(&mut connect);
    encoder.string("connect").number(1.0).object();
    encoder.key("app").string("live");
    encoder.key("type").string("nonprivate");
    encoder
        .key("flashVer")
        .string("FMLE/3.0 (compatible; FMSc/1.0)");
    encoder
        .key("swfUrl")
        .string("rtmp://relay.example:1935/live");
    encoder
        .key("tcUrl")
        .string("rtmp://relay.example:1935/live");
    encoder.key("fourCcList").strict_array(3);
    encoder.string("av01").string("vp09").string("hvc1");
    encoder.end();
    c.bench_function("amf0_connect_decode", |b| {
        b.iter(|| {
            let mut decoder = Decoder::new(black_box(&connect));
            while let Ok(Some(value)) = decoder.value() {
                black_box(&value);
            }
        });
    });
}

criterion_group!(benches, chunks, write, package, amf0);
criterion_main!(benches);
