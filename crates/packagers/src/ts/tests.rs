//! Segments of transport stream, as ffmpeg reads them.

use std::io::Write;

use container::frames::Syntax;
use testkit::{Clip, Tool};

use super::*;
use crate::testing::{DEADLINE, Written, of_flv, of_frames, probed, samples};

/// A packet as ffprobe sees it, its times at 90 kHz.
#[derive(Clone, Copy, Debug)]
struct Packet {
    is_picture: bool,
    pts: i64,
    dts: i64,
    is_key: bool,
}

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    file
}

/// The packets that ffprobe sees.
fn probe(bytes: &[u8]) -> Vec<Packet> {
    let (options, file) = (["-f", "mpegts"], file(bytes));
    let packets = probed(&options, file.path(), "codec_type,pts,dts,flags");
    let packet = |fields: Vec<String>| Packet {
        is_picture: fields[0] == "video",
        pts: fields[1].parse().expect("a time"),
        dts: fields[2].parse().expect("a time"),
        is_key: fields[3].starts_with('K'),
    };
    packets.into_iter().map(packet).collect()
}

fn pictures(packets: &[Packet]) -> Vec<Packet> {
    let pictures = packets.iter().filter(|packet| packet.is_picture);
    pictures.copied().collect()
}

/// The decoding time of something at the stream's time `at`.
fn stamp(at: Timestamp) -> i64 {
    (at + ts::CLOCK_LEAD).ticks() * 90_000 / media::TICKS_PER_SECOND
}

/// ffmpeg decodes all of it without a complaint.
fn check_decodes(bytes: &[u8]) {
    let file = file(bytes);
    Tool::ffmpeg()
        .args(["-loglevel", "warning", "-xerror", "-f", "mpegts", "-i"])
        .arg(file.path())
        .args(["-map", "0", "-f", "null", "-"])
        .run(DEADLINE);
}

#[test]
fn segments_begin_with_tables_and_a_keyframe_and_play_alone() {
    for clip in [Clip::Flv, Clip::FlvBframes, Clip::FlvHevc] {
        let items = of_flv(clip, 10);
        let written = Written::ts(&items);
        let index = written.index();
        let numbers: Vec<_> = index.segments.iter().map(|it| it.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4], "{clip:?}");
        for (segment, bytes) in index.segments.iter().zip(written.segments()) {
            assert_eq!(bytes[..3], [0x47, 0x40, 0], "PAT");
            assert_eq!(bytes[188..191], [0x47, 0x40, 0x20], "PMT");
            let packets = probe(&bytes);
            let pictures = pictures(&packets);
            assert!(pictures[0].is_key, "{clip:?}");
            assert_eq!(pictures[0].dts, stamp(segment.start), "{clip:?}");
            let expected = segment.duration.millis() / 40;
            assert_eq!(pictures.len() as i64, expected, "{clip:?}");
            check_decodes(&bytes);
        }
    }
}

#[test]
fn segments_put_together_are_one_stream() {
    for clip in [Clip::Flv, Clip::FlvBframes, Clip::FlvHevc, Clip::FlvOpus] {
        let items = of_flv(clip, 10);
        let bytes = Written::ts(&items).segments().concat();
        let packets = probe(&bytes);
        let pictures = pictures(&packets);
        // Every frame, each at its time.
        let sent = samples(&items).filter(|sample| sample.track == media::TrackId::VIDEO);
        let sent = sent.filter(|sample| !sample.data.is_empty());
        let times = |packet: &Packet| (packet.dts, packet.pts, packet.is_key);
        let got: Vec<_> = pictures.iter().map(times).collect();
        let expected = sent.map(|it| (stamp(it.dts), stamp(it.pts), it.keyframe));
        assert_eq!(got, expected.collect::<Vec<_>>(), "{clip:?}");
        // The audio has no gap: AAC's frames at 44.1 kHz have 2,090 units or one less, Opus' 1,800.
        let audio_frames: Vec<_> = packets.iter().filter(|it| !it.is_picture).collect();
        assert!(audio_frames.len() > 400, "{clip:?}");
        let steps = audio_frames.windows(2);
        let step_max = steps.map(|pair| pair[1].pts - pair[0].pts).max();
        assert!(step_max <= Some(2_091), "{step_max:?} {clip:?}");
        check_decodes(&bytes);
    }
}

#[test]
fn audio_alone_is_cut_as_fragmented_mp4_is() {
    for (clip, syntax) in [(Clip::Mp3, Syntax::MpegAudio), (Clip::Adts, Syntax::Adts)] {
        let items = of_frames(clip, syntax, 10);
        let written = Written::ts(&items);
        let facts = written.facts();
        assert!(facts.len() >= 4);
        assert_eq!(facts, Written::mp4(&items).facts(), "{clip:?}");
        let got = probe(&written.segments().concat()).len();
        assert_eq!(got, samples(&items).count(), "{clip:?}");
        written.segments().iter().for_each(|it| check_decodes(it));
    }
}

#[test]
fn what_a_transport_stream_cannot_carry_is_left_out() {
    let items = of_flv(Clip::FlvVp9, 4);
    let written = Written::ts(&items);
    let packets = probe(&written.segments().concat());
    assert!(packets.len() > 50, "the sound");
    assert!(packets.iter().all(|packet| !packet.is_picture));
}
