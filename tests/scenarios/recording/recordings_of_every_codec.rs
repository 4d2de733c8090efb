//! Streams of publishers in any codec are recorded so that they play.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::framemd5::{self, Frame};
use testkit::{Clip, PUBLISH_KEY, Server, Tool};

use crate::support::browser::{Browser, CAMERA};
use crate::support::film::Film;
use crate::support::firefox::Firefox;
use crate::support::recorded::{STREAM, finalised, probe, server, wait_for_seconds};
use crate::support::session::{Driven, publish_camera};
use crate::support::{DEADLINE, assert_joins, marks, publish_by, publish_rtmp};

/// Length of each clip in seconds.
const SECONDS: u32 = 6;

/// Media types for the browsers' checks. Browsers answer for a profile and a level, which are no lower than those of the clips.
const HEVC: &str = "video/mp4; codecs=\"hvc1.1.6.L93.90, mp4a.40.2\"";
const AV1: &str = "video/mp4; codecs=\"av01.0.04M.08, opus\"";
const VP9: &str = "video/mp4; codecs=\"vp09.00.31.08, mp4a.40.2\"";

/// Returns the tracks by ffprobe: their codecs, and the names of these in the file.
fn tracks(file: &Path) -> Vec<(String, String)> {
    let reported = Tool::ffprobe()
        .args(["-of", "json", "-show_streams"])
        .arg(file)
        .run(DEADLINE);
    let reported: Value = serde_json::from_slice(&reported).unwrap();
    let tracks = reported["streams"].as_array().expect("a list").iter();
    let text = |track: &Value, key: &str| track[key].as_str().unwrap_or_default().to_owned();
    tracks
        .map(|track| (text(track, "codec_name"), text(track, "codec_tag_string")))
        .collect()
}

fn pictures(file: &Path) -> Vec<Frame> {
    framemd5::video(&framemd5::decoded_by(Tool::current_ffmpeg(), file, &[]))
}

/// Plays a recording in Chromium and Firefox, where they report that they can.
fn watch(server: &Server, root: &Path, file: &Path, kind: &str) {
    let film = Film::recording(server, root, file);
    let (chromium, firefox) = (Browser::open(), Firefox::open());
    let browsers: [&dyn Driven; 2] = [&chromium, &firefox];
    for browser in browsers {
        film.plays_where_it_can(browser, kind);
    }
}

/// Publishes a clip by a current ffmpeg; asserts that its recording has all of it, under these names.
fn recorded(
    clip: Clip,
    seconds: u32,
    names: [(&str, &str); 2],
) -> (tempfile::TempDir, Server, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let server = server(root.path())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let sent = clip.seconds(seconds);
    let url = server.rtmp_url(STREAM, PUBLISH_KEY);
    let mut publisher = publish_by(Tool::current_ffmpeg(), &sent, &[], &url);
    assert!(publisher.wait(DEADLINE).success(), "{}", publisher.stderr());
    let file = finalised(&server, 1).remove(0);
    let names = names.map(|(codec, tag)| (codec.to_owned(), tag.to_owned()));
    assert_eq!(tracks(&file), names);
    let join = assert_joins("pictures", &pictures(&sent), &pictures(&file));
    assert_eq!((join.at % 25, join.missing), (0, 0), "{join:?}");
    let of =
        |path: &Path| framemd5::audio(&framemd5::packets_by(Tool::current_ffmpeg(), path, &[]));
    assert_eq!(assert_joins("sound", &of(&sent), &of(&file)).missing, 0);
    let (start, duration) = probe(&file);
    let wanted = join.matched as f64 / 25.0;
    assert!(
        start.abs() < 0.001 && (duration - wanted).abs() < 0.1,
        "{start} {duration} {wanted}"
    );
    (root, server, file)
}

/// Every player plays these codecs. VLC leaves at the end, so the clip is longer.
#[test]
fn h264_and_aac() {
    let (root, server, file) = recorded(
        Clip::FlvBframes,
        3 * SECONDS,
        [("h264", "avc1"), ("aac", "mp4a")],
    );
    let film = Film::recording(&server, root.path(), &file);
    film.plays_in(&Browser::open());
    film.plays_in(&Firefox::open());
    film.plays_in_vlc();
}

/// The track has the name that Apple requires.
#[test]
fn hevc() {
    let (root, server, file) =
        recorded(Clip::FlvHevc, SECONDS, [("hevc", "hvc1"), ("aac", "mp4a")]);
    watch(&server, root.path(), &file, HEVC);
}

#[test]
fn av1_and_opus() {
    let (root, server, file) = recorded(
        Clip::FlvAv1Opus,
        SECONDS,
        [("av1", "av01"), ("opus", "Opus")],
    );
    watch(&server, root.path(), &file, AV1);
}

#[test]
fn vp9() {
    let (root, server, file) = recorded(Clip::FlvVp9, SECONDS, [("vp9", "vp09"), ("aac", "mp4a")]);
    watch(&server, root.path(), &file, VP9);
}

/// Records a camera of Chromium's in one codec.
fn camera(codec: &str, names: [(&str, &str); 2]) -> (tempfile::TempDir, Server, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let server = server(root.path())
        .set("ingest", "linger", "\"1s\"")
        .start();
    {
        let camera = Browser::open_with(CAMERA);
        publish_camera(&camera, &server, STREAM, codec);
        wait_for_seconds(&server, 5.0);
        camera.run("publisher.close(); return null;");
    }
    let file = finalised(&server, 1).remove(0);
    assert!(file.extension().is_some_and(|it| it == "mp4"), "{file:?}");
    let names = names.map(|(codec, tag)| (codec.to_owned(), tag.to_owned()));
    assert_eq!(tracks(&file), names);
    let frames = framemd5::decoded_by(Tool::current_ffmpeg(), &file, &[]);
    let pictures = framemd5::video(&frames);
    assert!(framemd5::is_monotonic(&pictures) && pictures.len() > 50);
    assert!(framemd5::audio(&frames).len() > 100);
    (root, server, file)
}

/// Both browsers deny that they play VP8 in MP4. Chromium plays it all the same, and Firefox plays only its audio.
#[test]
fn vp8_and_opus_from_a_browser() {
    let (root, server, file) = camera("vp8", [("vp8", "vp08"), ("opus", "Opus")]);
    let film = Film::recording(&server, root.path(), &file);
    film.plays_in(&Browser::open());
    film.shows_nothing_in(&Firefox::open());
}

#[test]
fn av1_and_opus_from_a_browser() {
    let (root, server, file) = camera("av1", [("av1", "av01"), ("opus", "Opus")]);
    watch(&server, root.path(), &file, AV1);
}

#[test]
fn pictures_of_another_size_are_in_another_file() {
    let root = tempfile::tempdir().unwrap();
    let server = server(root.path()).start();
    let clips = [Clip::Flv, Clip::FlvLarger].map(|clip| clip.seconds(SECONDS));
    for clip in &clips {
        // The stream waits for its next publisher.
        let mut publisher = publish_rtmp(&server, clip, STREAM);
        publisher.wait(DEADLINE);
    }
    let files = finalised(&server, 2);
    for (clip, file) in clips.iter().zip(&files) {
        let [sent, got] = [clip, file].map(|path| framemd5::video(&framemd5::decoded(path)));
        let join = assert_joins("pictures", &sent, &got);
        assert_eq!((join.at % 25, join.missing), (0, 0), "{file:?} {join:?}");
    }
    let whole = framemd5::video(&framemd5::decoded(&clips[1]));
    let second = framemd5::video(&framemd5::decoded(&files[1]));
    assert_eq!(
        marks(&second),
        marks(&whole),
        "it begins with the first keyframe"
    );
    assert_eq!(server.metrics().sum("carillon_record_gaps_total", &[]), 0.0);
}
