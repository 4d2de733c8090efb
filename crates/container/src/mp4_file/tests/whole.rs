//! Whole files: every packet is in them, from zero on, before and after they are finalised.

use std::time::Duration;

use media::TrackId;
use testkit::{Tool, framemd5};

use super::*;
use crate::testing::samples;

const DEADLINE: Duration = Duration::from_secs(60);

/// Returns what ffprobe prints of a file.
fn probed(path: &std::path::Path, what: &[&str]) -> String {
    let reported = Tool::ffprobe()
        .args(["-v", "error", "-of", "csv=p=0"])
        .args(what)
        .arg(path)
        .run(DEADLINE);
    String::from_utf8(reported).expect("text").trim().to_owned()
}

/// Returns a file's beginning and duration according to ffprobe, in seconds.
fn probe(path: &std::path::Path) -> (f64, f64) {
    let reported = probed(path, &["-show_entries", "format=start_time,duration"]);
    let (start, duration) = reported.split_once(',').expect("two numbers");
    let number = |text: &str| text.parse().expect("a number");
    (number(start), number(duration))
}

fn hashes(frames: &[framemd5::Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.md5.as_str()).collect()
}

#[test]
fn every_packet_is_there_from_zero_on_whenever_the_stream_began() {
    for clip in [Clip::Flv, Clip::FlvBframes] {
        let source = clip.seconds(4);
        let sent = framemd5::packets(&source);
        let items = of_flv(clip, 4);
        let mut samples = samples(&items).into_iter();
        let early = samples.position(|it| it.track == TrackId::VIDEO);
        let early = early.expect("a picture");
        for hours in [0, 3] {
            let later = Span::from_millis(hours * 3_600_000);
            let fragmented = recording(items.clone(), later);
            let (plain, finished) = finalised(&fragmented);
            for (file, is_plain) in [(fragmented, false), (plain, true)] {
                let path = temporary(&file);
                let got = framemd5::packets(&path);
                let (sent_pictures, got_pictures) = (framemd5::video(&sent), framemd5::video(&got));
                assert_eq!(hashes(&got_pictures), hashes(&sent_pictures), "{clip:?}");
                let (sent, got) = (framemd5::audio(&sent), framemd5::audio(&got));
                assert_eq!(hashes(&got), hashes(&sent[early..]), "{clip:?}");
                let (start, duration) = probe(&path);
                // Frames in another order begin late in fragments, where there are no edits.
                let start_max = if is_plain { 0.001 } else { 0.1 };
                assert!(start.abs() <= start_max, "{clip:?} {is_plain} {start}");
                let off = (duration - 4.0).abs();
                assert!(off < 0.1, "{clip:?} {is_plain} {duration}");
            }
            assert!((finished.duration.as_secs_f64() - 4.0).abs() < 0.1);
        }
        let plain = temporary(&finalised(&recording_of(clip)).0);
        let [sent, got] = [&*source, &*plain].map(framemd5::decoded);
        let [sent, got] = [framemd5::video(&sent), framemd5::video(&got)];
        assert_eq!(hashes(&got), hashes(&sent));
    }
}

#[test]
fn tracks_stay_in_step_and_seeking_finds_keyframes() {
    let path = temporary(&finalised(&recording_of(Clip::FlvBframes)).0);
    let streams = probed(&path, &["-show_entries", "stream=start_time"]);
    let starts = streams.lines().map(|line| line.trim_end_matches(','));
    let starts: Vec<f64> = starts.map(|it| it.parse().expect("a number")).collect();
    let source = framemd5::packets(Clip::FlvBframes.seconds(4));
    let first = |frames: Vec<framemd5::Frame>| frames[0].pts as f64 / 1_000.0;
    let apart = first(framemd5::video(&source)) - first(framemd5::audio(&source));
    let found = (starts[0] - starts[1]).abs();
    assert!(found < 0.03 + apart.abs(), "{starts:?} {apart}");
    let second_half = framemd5::packets_by(Tool::ffmpeg().args(["-ss", "2.5"]), &path, &["-an"]);
    assert_eq!(framemd5::video(&second_half).len(), 50);
}

#[test]
fn audio_alone_is_a_file_too() {
    let mut audio = of_flv(Clip::Flv, 4);
    audio.retain(|item| match item {
        Item::Track(track) => track.id == TrackId::AUDIO,
        Item::Sample(sample) => sample.track == TrackId::AUDIO,
        _ => false,
    });
    let (plain, finished) = finalised(&recording(audio, Span::from_millis(5_000)));
    assert_eq!(movie_duration(&finished.moov), Some(finished.duration));
    let path = temporary(&plain);
    let (start, duration) = probe(&path);
    assert!(start.abs() < 0.001, "{start}");
    assert!((duration - finished.duration.as_secs_f64()).abs() < 0.001);
    let sent = framemd5::audio(&framemd5::packets(Clip::Flv.seconds(4)));
    let join = framemd5::join(&sent, &framemd5::packets(&path), 0);
    let join = join.expect("the same sound");
    assert_eq!(join.missing, 0);
}

#[test]
fn a_hole_stays_a_hole() {
    let mut moved = of_flv(Clip::Flv, 4);
    for item in &mut moved {
        if let Item::Sample(sample) = item
            && sample.dts.millis() >= 2_000
        {
            let later = Span::from_millis(7_000);
            (sample.dts, sample.pts) = (sample.dts + later, sample.pts + later);
        }
    }
    let (plain, finished) = finalised(&recording(moved, Span::ZERO));
    let duration = finished.duration.as_secs_f64();
    assert!((duration - 11.0).abs() < 0.2, "{duration}");
    let path = temporary(&plain);
    let pictures = framemd5::video(&framemd5::packets(&path));
    assert_eq!(pictures.len(), 100);
    assert!(framemd5::is_monotonic(&pictures));
}

#[test]
fn pictures_are_on_their_grid_again_once_a_file_is_finalised() {
    // 30 frames a second, whose times FLV has rounded.
    let file = recording(of_flv(Clip::FlvMegabit, 4), Span::from_millis(5));
    let path = temporary(&finalised(&file).0);
    let rates = ["-show_entries", "stream=r_frame_rate,avg_frame_rate"];
    let found = probed(&path, &[&["-select_streams", "v"][..], &rates].concat());
    assert_eq!(found, "30/1,30/1");
}

#[test]
fn audio_says_from_how_far_before_a_sample_it_is_right() {
    for (clip, roll) in [(Clip::Flv, -1_i16), (Clip::FlvOpus, -4)] {
        let (_, finished) = finalised(&recording_of(clip));
        let mut kinds = finished.moov.windows(4);
        let at = kinds.position(|kind| kind == b"sgpd").expect("a group");
        let expected = [b"roll\0\0\0\x02\0\0\0\x01", &roll.to_be_bytes()[..]].concat();
        assert_eq!(finished.moov[at + 8..at + 22], expected);
        let groups = finished.moov.windows(12);
        let all = groups.filter(|at| at.starts_with(b"sbgp") && at.ends_with(b"roll"));
        assert_eq!(all.count(), 1, "of the sound alone");
    }
}
