//! The cost of formats per sample: each is written once per lane, whatever the number of listeners.

use std::hint::black_box;
use std::num::NonZeroUsize;

use bytes::Bytes;
use container::icy::{Block, Interleaver, Piece};
use container::{Demuxer, flv, rtp};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use media::{Charset, Codec, Framing, Kind, Sample, Span, Timestamp, Title, Track, TrackId};
use testkit::OggPage;

/// Length of an MP3 frame at 128 kb/s and 44.1 kHz.
const FRAME_BYTES: usize = 417;

/// Length of a P frame at 1 Mb/s and 30 frames per second.
const PICTURE_BYTES: usize = 4_096;

fn flv_tag(c: &mut Criterion) {
    let track = Track {
        id: TrackId::VIDEO,
        kind: Kind::Video,
        codec: Codec::H264,
        framing: Framing::Bare,
        config: Bytes::new(),
        sample_rate: 0,
        channels: 0,
        flv: None,
    };
    let sample = Sample {
        track: track.id,
        dts: Timestamp::from_millis(1_000_000),
        pts: Timestamp::from_millis(1_000_066),
        duration: Span::ZERO,
        keyframe: false,
        data: vec![0x5A; PICTURE_BYTES].into(),
        flv: None,
    };
    let mut group = c.benchmark_group("container");
    group.throughput(Throughput::Bytes(PICTURE_BYTES as u64));
    group.bench_function("flv_tag_write", |b| {
        let mut log = Vec::with_capacity(2 * PICTURE_BYTES);
        b.iter(|| {
            log.clear();
            let tag = flv::Tag::sample(black_box(&track), black_box(&sample));
            tag.expect("FLV carries H.264")
                .write(&mut |piece| log.extend_from_slice(piece));
            log.len()
        });
    });
    group.finish();
}

/// Packetizes an H.264 sample of one slice, with headers.
fn rtp_packetize(c: &mut Criterion) {
    let track = Track {
        id: TrackId::VIDEO,
        kind: Kind::Video,
        codec: Codec::H264,
        framing: Framing::Bare,
        // A record with a sequence and a picture parameter set of a few bytes each.
        config: Bytes::from_static(
            b"\x01\x64\0\x1F\xFF\xE1\0\x06\x67\x64\0\x1F\xAC\xD9\x01\0\x04\x68\xEB\xE3\xCB",
        ),
        sample_rate: 0,
        channels: 0,
        flv: None,
    };
    let mut group = c.benchmark_group("container");
    for (name, bytes, keyframe) in [
        ("rtp_packetize_picture", 5_000, false),
        ("rtp_packetize_keyframe", 100_000, true),
    ] {
        let first = if keyframe { 0x65 } else { 0x41 };
        let length = ((bytes - 4) as u32).to_be_bytes();
        let data = [&length[..], &[first], &vec![0x5A; bytes - 5]].concat();
        let sample = Sample {
            track: track.id,
            dts: Timestamp::from_millis(1_000_000),
            pts: Timestamp::from_millis(1_000_000),
            duration: Span::ZERO,
            keyframe,
            data: data.into(),
            flv: None,
        };
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(name, |b| {
            let format = rtp::PayloadFormat::of(&track).expect("RTP carries H.264");
            let mut packetizer = rtp::Packetizer::new(format, &track, rtp::PAYLOAD_BYTES);
            let mut sequencer = rtp::Sequencer::new(1, 0, 0, format.clock_rate());
            let mut payloads = rtp::Payloads::default();
            let mut log = Vec::with_capacity(2 * bytes);
            b.iter(|| {
                payloads.clear();
                log.clear();
                let picture = packetizer.push(black_box(&sample), &mut payloads);
                assert!(picture.is_ok());
                let timestamp = sequencer.timestamp(sample.pts);
                for packet in payloads.packets() {
                    log.extend_from_slice(&sequencer.number(packet, timestamp));
                    log.extend_from_slice(&payloads.bytes()[packet.range.clone()]);
                }
                log.len()
            });
        });
    }
    group.finish();
}

fn icy_interleave(c: &mut Criterion) {
    let metaint = NonZeroUsize::new(16_000).expect("sixteen thousand is not zero");
    let title = Title {
        text: "Some Band - Some Song".to_owned(),
        url: String::new(),
    };
    let block = Block::new(&title, Charset::UTF_8);
    let frame = [0x5A; FRAME_BYTES];
    let mut group = c.benchmark_group("container");
    group.throughput(Throughput::Bytes(FRAME_BYTES as u64));
    group.bench_function("icy_interleave_frame", |b| {
        let mut interleaver = Interleaver::new(metaint);
        let mut log = Vec::with_capacity(8 * FRAME_BYTES);
        b.iter(|| {
            log.clear();
            interleaver.push(black_box(&frame), &block, |piece| match piece {
                Piece::Audio(bytes) | Piece::Block(bytes) => log.extend_from_slice(bytes),
            });
            log.len()
        });
    });
    group.finish();
}

/// Returns a hundred frames, a little more than two and a half seconds.
fn mp3_stream() -> Vec<u8> {
    let mut frame = [0; FRAME_BYTES];
    frame[..4].copy_from_slice(&[0xFF, 0xFB, 0x90, 0x64]);
    frame.repeat(100)
}

/// Returns two header pages, and a hundred pages of four kilobytes.
fn ogg_stream() -> Vec<u8> {
    let tags = b"OpusTags\x04\0\0\0test\0\0\0\0".to_vec();
    let mut stream = ogg_page(2, 0, b"OpusHead\x01\x02\x38\x01\x80\xBB\0\0\0\0\0");
    stream.extend(ogg_page(0, 0, &tags));
    for page in 1..=100 {
        stream.extend(ogg_page(0, page * 12_000, &[0x5A; 4_000]));
    }
    stream
}

fn ogg_page(flags: u8, granule: u64, packet: &[u8]) -> Vec<u8> {
    let page = OggPage {
        flags,
        granule,
        packets: &[packet],
        ..OggPage::default()
    };
    page.bytes()
}

fn demux(c: &mut Criterion) {
    let mut group = c.benchmark_group("container");
    for (name, content_type, stream) in [
        ("mp3_framing", "audio/mpeg", mp3_stream()),
        ("ogg_paging", "audio/ogg", ogg_stream()),
    ] {
        group.throughput(Throughput::Bytes(stream.len() as u64));
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                || {
                    (
                        Demuxer::for_content_type(content_type),
                        Vec::with_capacity(256),
                    )
                },
                |(demuxer, items)| {
                    for segment in stream.chunks(1_448) {
                        demuxer.push(black_box(segment), items);
                    }
                    assert!(items.len() > 100 && demuxer.skipped_bytes() == 0);
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, flv_tag, rtp_packetize, icy_interleave, demux);
criterion_main!(benches);
