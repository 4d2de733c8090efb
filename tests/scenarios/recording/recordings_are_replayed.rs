//! Recordings play in other forms than they were recorded: live addresses go back in time, and players over RTMP get recordings
//! by their identifiers.

use tempfile::TempDir;
use testkit::{Clip, Process, Server, Tool, framemd5};

use crate::support::library::{hasty, rtmpdump};
use crate::support::past::{STREAM, after, has_seconds, is_final, newest, on_disk, place, text};
use crate::support::recorded::recording_into;
use crate::support::wire::Wire;
use crate::support::{DEADLINE, marks, play_url, publish_icecast, publish_rtmp};

/// Seconds between two keyframes of the clips, and frames per second.
const GROUP: f64 = 1.0;
const RATE: usize = 25;

/// Starts a server that records; returns the folder of its recordings too.
fn server(container: &str) -> (TempDir, Server) {
    let root = tempfile::tempdir().unwrap();
    let server = recording_into(root.path())
        .set("recording", "container", &format!("{container:?}"))
        .set("ingest", "linger", "\"1s\"")
        .set("rtmp", "play_wait", "\"0s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n[[record]]\nmatch = \"radio**\"\n")
        .start();
    (root, server)
}

/// Waits for a publisher, and for its recording; returns the recording's id and path.
fn finalised(server: &Server, stream: &str, mut publisher: Process) -> (String, String) {
    publisher.wait(DEADLINE);
    let one = newest(server, stream, "a finalised recording", is_final);
    let id = text(&one, "id").to_owned();
    let path = on_disk(server, &id);
    (id, path)
}

#[test]
fn live_addresses_go_back_in_time_and_on_into_the_present() {
    let (_root, server) = server("mp4");
    let publisher = publish_rtmp(&server, &Clip::Flv.seconds(40), STREAM);
    let one = newest(&server, STREAM, "some seconds", has_seconds(12.0));
    let (at, offset) = (after(&one, 5), 5.0);
    // The requested length exceeds what has been recorded.
    let count = 14 * RATE;
    let limit = count.to_string();
    let mut got = Vec::new();
    for extension in [".flv", ".ts", ".mp4", ""] {
        let url = server.http_url(&format!("/{STREAM}{extension}?at={at}"));
        let more = ["-an", "-frames:v", &limit];
        let pictures = framemd5::decoded_by(Tool::ffmpeg(), url, &more);
        assert_eq!(pictures.len(), count, "{extension}");
        assert!(framemd5::is_monotonic(&pictures), "{extension}");
        got.push((extension, pictures));
    }
    let url = server.http_url(&format!("/{STREAM}.aac?at={at}"));
    let bare = ["-frames:a", "200", "-bsf:a", "aac_adtstoasc"];
    let audio = framemd5::packets_by(Tool::ffmpeg(), url, &bare);
    let start = server.http_url(&format!("/{STREAM}.flv?at=start"));
    let start = framemd5::decoded_by(Tool::ffmpeg(), start, &["-an", "-frames:v", "50"]);
    for (path, status) in [
        (format!("/{STREAM}.flv?at=yesterday"), 400),
        (format!("/{STREAM}.flv?at="), 400),
        (format!("/{STREAM}.ogg?at=start"), 406),
        (format!("/{STREAM}.mp3?at=start"), 406),
        ("/live/none.flv?at=start".to_owned(), 404),
    ] {
        let answer = server.get(&path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
    }
    let (_, path) = finalised(&server, STREAM, publisher);
    let file = framemd5::decoded(&path);
    let pictures = framemd5::video(&file);
    for (extension, got) in &got {
        let first = place(extension, got, &pictures) as f64 / RATE as f64;
        assert!(
            first <= offset && offset - first <= GROUP + 0.1,
            "{extension}: {first} for {offset}"
        );
    }
    assert_eq!(place("start", &start, &pictures), 0);
    let frames = framemd5::audio(&framemd5::packets(&path));
    assert!(audio.len() == 200 && place("sound", &audio, &frames) > 0);
}

#[test]
fn a_body_continues_through_recordings_and_ends_with_the_last() {
    let (_root, server) = server("flv");
    let publisher = publish_rtmp(&server, &Clip::Flv.seconds(8), STREAM);
    let (_, first) = finalised(&server, STREAM, publisher);
    let publisher = publish_rtmp(&server, &Clip::Flv.seconds(6), STREAM);
    let one = newest(&server, STREAM, "the second one", |one| {
        one["state"] == "open"
    });
    let url = server.http_url(&format!("/{STREAM}.flv?at=2001-01-01T00:00:00Z"));
    // The body waits for another publisher, and ends when none has come.
    let got = Tool::ffmpeg()
        .args(["-v", "error", "-i"])
        .arg(url)
        .args(["-map", "0:v", "-c", "copy", "-f", "framemd5", "-"])
        .run(3 * DEADLINE);
    let (id, second) = finalised(&server, STREAM, publisher);
    assert_eq!(text(&one, "id"), id);
    let got = framemd5::video(&framemd5::parse(&String::from_utf8(got).unwrap()));
    let files = [first, second].map(|path| framemd5::video(&framemd5::packets(path)));
    assert_eq!(marks(&got), marks(&files.concat()));
    // ffmpeg gives a frame whose time falls back the time of the frame before.
    assert!(
        got.is_sorted_by(|a, b| a.pts < b.pts),
        "times go on: {got:?}"
    );
}

#[test]
fn radio_is_heard_again_from_a_time_on() {
    let (_root, server) = server("mp4");
    let publisher = publish_icecast(&server, Clip::Mp3, 24, "radio.mp3");
    let one = newest(&server, "radio.mp3", "some seconds", has_seconds(8.0));
    let (at, offset) = (after(&one, 4), 4.0);
    let count = 400;
    let url = server.http_url(&format!("/radio.mp3?at={at}"));
    let got = framemd5::packets_by(Tool::ffmpeg(), url, &["-frames:a", &count.to_string()]);
    assert_eq!(got.len(), count);
    let (_, path) = finalised(&server, "radio.mp3", publisher);
    let all = framemd5::packets(path);
    let first = place("sound", &got, &all) as f64 * 1_152.0 / 44_100.0;
    assert!((first - offset).abs() < 0.5, "{first} for {offset}");
}

#[test]
fn players_over_rtmp_have_recordings_by_their_identifiers() {
    let (_root, server) = server("mp4");
    let publisher = publish_rtmp(&server, &Clip::FlvBframes.seconds(20), STREAM);
    let open = newest(&server, STREAM, "some seconds", has_seconds(3.0));
    let name = format!("{STREAM}/recordings/{}", text(&open, "id"));
    // A recording that is still being written plays as far as it is.
    let early = framemd5::packets_by(hasty(Tool::ffmpeg()), play_url(&server, &name), &[]);
    let (_, path) = finalised(&server, STREAM, publisher);
    let all = framemd5::packets(&path);
    let (pictures, audio) = (framemd5::video(&all), framemd5::audio(&all));
    let early = framemd5::video(&early);
    assert!(early.len() >= 3 * RATE && place("early", &early, &pictures) == 0);
    for name in [name.clone(), format!("{name}.mp4")] {
        let got = framemd5::packets_by(hasty(Tool::ffmpeg()), play_url(&server, &name), &[]);
        assert_eq!(marks(&framemd5::video(&got)), marks(&pictures), "{name}");
        assert_eq!(marks(&framemd5::audio(&got)), marks(&audio), "{name}");
    }
    let seeking = Tool::ffmpeg().args(["-ss", "12.5"]);
    let got = framemd5::packets_by(seeking, play_url(&server, &name), &[]);
    let got = framemd5::video(&got);
    let first = place("late", &got, &pictures);
    assert_eq!(first + got.len(), pictures.len(), "to the end");
    assert!((11 * RATE..=13 * RATE).contains(&first), "{first}");
    let playpath = name.strip_prefix("live/").expect("an app");
    let got = rtmpdump(&server, &format!("mp4:{playpath}"), &[]);
    assert_eq!(marks(&framemd5::video(&got)), marks(&pictures));
    assert_eq!(marks(&framemd5::audio(&got)), marks(&audio));
    let mut wire = Wire::paused_at(&server, playpath, 18_500.0);
    wire.pause(false);
    wire.hear("NetStream.Unpause.Notify", DEADLINE);
    wire.hear("NetStream.Play.Complete", DEADLINE);
    for name in [
        playpath.replace("show/", "other/"),
        format!("{playpath}.flv"),
        format!("flv:{playpath}"),
        format!("show/recordings/{}", "0".repeat(24)),
    ] {
        let mut wire = Wire::connect(server.addr("rtmp"), &[]);
        wire.play(&name);
        wire.hear("NetStream.Play.StreamNotFound", DEADLINE);
    }
}

#[test]
fn recordings_of_mp3_are_played_over_rtmp() {
    let (_root, server) = server("mp4");
    let publisher = publish_icecast(&server, Clip::Mp3, 6, "radio/one");
    let (id, path) = finalised(&server, "radio/one", publisher);
    let url = play_url(&server, &format!("radio/one/recordings/{id}"));
    let got = framemd5::packets_by(hasty(Tool::ffmpeg()), url, &[]);
    assert_eq!(marks(&got), marks(&framemd5::packets(path)));
}
