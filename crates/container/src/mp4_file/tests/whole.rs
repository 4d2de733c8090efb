//! Whole files: every packet is in them, from zero on, before and after they are finalised.

use std::time::Duration;

use media::TrackId;
use testkit::{Tool, framemd5};

use super::*;

const DEADLINE: Duration = Duration::from_secs(60);

/// What ffprobe says of a file's beginning and duration, in seconds.
fn probe(path: &std::path::Path) -> (f64, f64) {
    let told = Tool::ffprobe()
        .args(["-v", "error", "-of", "csv=p=0"])
        .args(["-show_entries", "format=start_time,duration"])
        .arg(path)
        .run(DEADLINE);
    let told = String::from_utf8(told).expect("text");
    let mut numbers = told
        .trim()
        .split(',')
        .map(|it| it.parse().expect("a number"));
    let mut next = || numbers.next().expect("two numbers");
    (next(), next())
}

fn hashes(frames: &[framemd5::Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.md5.as_str()).collect()
}

#[test]
fn every_packet_is_there_from_zero_on_whenever_the_stream_began() {
    for clip in [Clip::Flv, Clip::FlvBframes] {
        let source = clip.seconds(4);
        let sent = framemd5::packets(&source);
        let early = items(clip).into_iter().filter_map(|item| match item {
            Item::Sample(sample) => Some(sample.track),
            _ => None,
        });
        let early = early.take_while(|track| *track != TrackId::VIDEO).count();
        for hours in [0, 3] {
            let later = Span::from_millis(hours * 3_600_000);
            let fragmented = Lane::of(items(clip), later).file();
            let (plain, finished) = finalised(&fragmented);
            for (file, is_plain) in [(fragmented, false), (plain, true)] {
                let path = temporary(&file);
                let got = framemd5::packets(&path);
                let (sent_pictures, got_pictures) = (framemd5::video(&sent), framemd5::video(&got));
                assert_eq!(hashes(&got_pictures), hashes(&sent_pictures), "{clip:?}");
                let (sent, got) = (framemd5::audio(&sent), framemd5::audio(&got));
                assert_eq!(hashes(&got), hashes(&sent[early..]), "{clip:?}");
                let (start, duration) = probe(&path);
                // Pictures in another order begin late in fragments, where there are no edits.
                let start_max = if is_plain { 0.001 } else { 0.1 };
                assert!(start.abs() <= start_max, "{clip:?} {is_plain} {start}");
                assert!(
                    (duration - 4.0).abs() < 0.1,
                    "{clip:?} {is_plain} {duration}"
                );
            }
            assert!((finished.duration.as_secs_f64() - 4.0).abs() < 0.1);
        }
        let plain = temporary(&finalised(&Lane::of(items(clip), Span::ZERO).file()).0);
        let (sent, got) = (framemd5::decoded(&source), framemd5::decoded(&plain));
        assert_eq!(
            hashes(&framemd5::video(&got)),
            hashes(&framemd5::video(&sent))
        );
    }
}

#[test]
fn tracks_stay_in_step_and_seeking_finds_keyframes() {
    let (plain, _) = finalised(&Lane::of(items(Clip::FlvBframes), Span::ZERO).file());
    let path = temporary(&plain);
    let streams = Tool::ffprobe()
        .args(["-v", "error", "-of", "csv=p=0"])
        .args(["-show_entries", "stream=start_time"])
        .arg(&path)
        .run(DEADLINE);
    let streams = String::from_utf8(streams).expect("text");
    let starts: Vec<f64> = streams
        .lines()
        .map(|line| line.trim_end_matches(',').parse().expect("a number"))
        .collect();
    let source = framemd5::packets(Clip::FlvBframes.seconds(4));
    let first = |frames: Vec<framemd5::Frame>| frames[0].pts as f64 / 1_000.0;
    let apart = first(framemd5::video(&source)) - first(framemd5::audio(&source));
    assert!(
        (starts[0] - starts[1]).abs() < 0.03 + apart.abs(),
        "{starts:?} {apart}"
    );
    let second_half = framemd5::packets_by(Tool::ffmpeg().args(["-ss", "2.5"]), &path, &["-an"]);
    assert_eq!(framemd5::video(&second_half).len(), 50);
}

#[test]
fn sound_alone_is_a_file_too() {
    let sound = items(Clip::Flv).into_iter().filter(|item| match item {
        Item::Track(track) => track.id == TrackId::AUDIO,
        Item::Sample(sample) => sample.track == TrackId::AUDIO,
        _ => false,
    });
    let lane = Lane::of(sound.collect(), Span::from_millis(5_000));
    let (plain, finished) = finalised(&lane.file());
    assert_eq!(movie_duration(&finished.moov), Some(finished.duration));
    let path = temporary(&plain);
    let (start, duration) = probe(&path);
    assert!(start.abs() < 0.001, "{start}");
    assert!((duration - finished.duration.as_secs_f64()).abs() < 0.001);
    let (sent, got) = (
        framemd5::audio(&framemd5::packets(Clip::Flv.seconds(4))),
        framemd5::packets(&path),
    );
    let join = framemd5::join(&sent, &got, 0).expect("the same sound");
    assert_eq!(join.missing, 0);
}

#[test]
fn a_hole_stays_a_hole() {
    let mut moved = items(Clip::Flv);
    for item in &mut moved {
        if let Item::Sample(sample) = item
            && sample.dts.millis() >= 2_000
        {
            let later = Span::from_millis(7_000);
            (sample.dts, sample.pts) = (sample.dts + later, sample.pts + later);
        }
    }
    let (plain, finished) = finalised(&Lane::of(moved, Span::ZERO).file());
    let duration = finished.duration.as_secs_f64();
    assert!((duration - 11.0).abs() < 0.2, "{duration}");
    let path = temporary(&plain);
    let pictures = framemd5::video(&framemd5::packets(&path));
    assert_eq!(pictures.len(), 100);
    assert!(framemd5::is_monotonic(&pictures));
}

#[test]
fn pictures_are_on_their_grid_again_once_a_file_is_finalised() {
    // 30 pictures a second, whose times FLV has rounded.
    let file = Lane::of(items(Clip::FlvMegabit), Span::from_millis(5)).file();
    let path = temporary(&finalised(&file).0);
    let told = Tool::ffprobe()
        .args(["-v", "error", "-of", "csv=p=0", "-select_streams", "v"])
        .args(["-show_entries", "stream=r_frame_rate,avg_frame_rate"])
        .arg(&path)
        .run(DEADLINE);
    assert_eq!(String::from_utf8(told).expect("text").trim(), "30/1,30/1");
}

#[test]
fn sound_says_from_how_far_before_a_sample_it_is_right() {
    for (clip, roll) in [(Clip::Flv, -1_i16), (Clip::FlvOpus, -4)] {
        let (_, finished) = finalised(&Lane::of(items(clip), Span::ZERO).file());
        let mut kinds = finished.moov.windows(4);
        let at = kinds.position(|kind| kind == b"sgpd").expect("a group");
        let [kind, rest] =
            [8..12, 12..22].map(|range| &finished.moov[at + range.start..at + range.end]);
        assert_eq!(kind, b"roll");
        assert_eq!(
            rest,
            [&[0, 0, 0, 2, 0, 0, 0, 1][..], &roll.to_be_bytes()].concat()
        );
        let groups = finished.moov.windows(12);
        let all = groups.filter(|at| at.starts_with(b"sbgp") && at.ends_with(b"roll"));
        assert_eq!(all.count(), 1, "of the sound alone");
    }
}
