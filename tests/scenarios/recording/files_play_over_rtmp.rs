//! Files of a folder play over RTMP: whole, from any keyframe, up to any time; and FLV over HTTP from any tag.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::framemd5::{self, Frame};
use testkit::{Clip, Player, Server, Tool};

use crate::support::library::{hasty, rtmpdump};
use crate::support::wire::Wire;
use crate::support::{DEADLINE, marks, play_url, publish_rtmp, remux, wait_until};

/// Length of the film in seconds, with a keyframe in each, 25 frames a second, and B-frames.
const SECONDS: u32 = 20;
const RATE: usize = 25;

/// Name of the folder: an app and a part of the stream's name, as `Wire` needs it.
const FOLDER: &str = "live/films";

/// A folder with the film in each container.
struct Library(TempDir);

impl Library {
    fn make() -> Self {
        let library = Self(tempfile::tempdir().unwrap());
        let clip = Clip::FlvBframes.seconds(SECONDS);
        for (name, options) in [
            ("film.flv", "-flvflags add_keyframe_index"),
            ("unlisted.flv", ""),
            ("plain.mp4", "-movflags +faststart"),
            (
                "cut.mp4",
                "-movflags +frag_keyframe+empty_moov+default_base_moof",
            ),
            ("a film.mp4", "-movflags -faststart"),
        ] {
            remux(Tool::ffmpeg(), &clip, options, &library.file(name));
        }
        library
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn serve(&self) -> Server {
        let folder = self.0.path().display().to_string();
        Server::builder()
            .set("rtmp", "play_wait", "\"0s\"")
            .toml(&format!(
                "[[files]]\npath = \"{FOLDER}\"\ndirectory = {folder:?}"
            ))
            .start()
    }
}

/// Returns the address of a film.
fn url(server: &Server, name: &str) -> String {
    play_url(server, &format!("{FOLDER}/{name}"))
}

/// Asserts that all packets of a file arrived.
fn assert_whole(name: &str, got: &[Frame], file: &Path) {
    let expected = framemd5::packets(file);
    for of in [framemd5::video, framemd5::audio] {
        let (got, expected) = (of(got), of(&expected));
        assert_eq!(marks(&got), marks(&expected), "{name}");
        assert!(framemd5::is_monotonic(&got) || got.iter().any(|frame| frame.is_video));
    }
}

#[test]
fn ffmpeg_gets_every_packet() {
    let library = Library::make();
    let server = library.serve();
    for (name, file) in [
        // ffmpeg requests `film`, which is `film.flv` if there is one.
        ("film.flv", "film.flv"),
        ("film", "film.flv"),
        ("plain.mp4", "plain.mp4"),
        ("plain", "plain.mp4"),
        ("cut.mp4", "cut.mp4"),
        ("a%20film.mp4", "a film.mp4"),
    ] {
        let got = framemd5::packets_by(hasty(Tool::ffmpeg()), url(&server, name), &[]);
        assert_whole(name, &got, &library.file(file));
    }
    // FLV has the file's own times.
    let got = framemd5::packets_by(hasty(Tool::ffmpeg()), url(&server, "film.flv"), &[]);
    assert_eq!(got, framemd5::packets(library.file("film.flv")));
    let served = server.metrics();
    let whole = served.get("carillon_file_requests_total{result=\"whole\"}");
    assert_eq!(whole, Some(7.0));
}

#[test]
fn hevc_plays_in_a_current_ffmpeg() {
    let library = Library::make();
    let file = library.file("hevc.mp4");
    remux(Tool::current_ffmpeg(), &Clip::FlvHevc.seconds(4), "", &file);
    let server = library.serve();
    let ffmpeg = || hasty(Tool::current_ffmpeg());
    let got = framemd5::packets_by(ffmpeg(), url(&server, "hevc.mp4"), &[]);
    let expected = framemd5::packets_by(Tool::current_ffmpeg(), &file, &[]);
    for of in [framemd5::video, framemd5::audio] {
        assert_eq!(marks(&of(&got)), marks(&of(&expected)));
    }
}

#[test]
fn ffmpeg_seeks() {
    let library = Library::make();
    let server = library.serve();
    for name in ["film.flv", "unlisted.flv", "plain.mp4", "cut.mp4"] {
        // Without the large buffer: with it, ffmpeg would take the end reported before its seek for the end after it.
        let ffmpeg = Tool::ffmpeg().args(["-ss", "12.5"]);
        let got = framemd5::packets_by(ffmpeg, url(&server, name), &[]);
        let all = framemd5::packets(library.file(name));
        let (got, all) = (framemd5::video(&got), framemd5::video(&all));
        assert_eq!(marks(&got), marks(&all[12 * RATE..]), "{name}");
    }
}

#[test]
fn rtmpdump_begins_and_ends_where_it_is_reported() {
    let library = Library::make();
    let server = library.serve();
    for (playpath, file) in [
        ("films/film", "film.flv"),
        ("flv:films/film", "film.flv"),
        ("mp4:films/plain.mp4", "plain.mp4"),
        ("mp4:films/plain", "plain.mp4"),
        ("mp4:films/cut", "cut.mp4"),
    ] {
        let got = rtmpdump(&server, playpath, &[]);
        assert_whole(playpath, &got, &library.file(file));
        let got = rtmpdump(&server, playpath, &["--start", "5", "--stop", "9"]);
        let all = framemd5::packets(library.file(file));
        let (got, all) = (framemd5::video(&got), framemd5::video(&all));
        assert_eq!(marks(&got), marks(&all[5 * RATE..9 * RATE]), "{playpath}");
    }
}

#[test]
fn every_player_plays_a_film() {
    let library = Library::make();
    let short = library.file("short.mp4");
    remux(Tool::ffmpeg(), &Clip::FlvBframes.seconds(6), "", &short);
    let server = library.serve();
    let expected = framemd5::video(&framemd5::decoded(&short));
    let players = [Player::GstreamerRtmp2, Player::CurrentFfmpeg, Player::Vlc];
    for mut playing in players.map(|player| player.start(&url(&server, "short.mp4"))) {
        playing.wait(DEADLINE);
        let got = playing.pictures();
        let player = playing.player();
        let join = framemd5::join(&expected, &got, 0);
        let join = join.unwrap_or_else(|mismatch| panic!("{player:?}: {mismatch}"));
        let lost = match player {
            // VLC discards its queues when the end is reported.
            Player::Vlc => RATE,
            _ => 0,
        };
        assert!(join.at == 0 && join.missing <= lost, "{player:?}: {join:?}");
    }
}

#[test]
fn a_paused_player_seeks_and_continues_to_the_end() {
    let library = Library::make();
    let server = library.serve();
    let mut wire = Wire::paused_at(&server, "films/plain.mp4", 18_500.0);
    wire.seek(3_600_000.0);
    wire.hear("NetStream.Seek.InvalidTime", DEADLINE);
    assert!(!wire.has_heard("NetStream.Play.Complete"));
    wire.pause(false);
    wire.hear("NetStream.Unpause.Notify", DEADLINE);
    wire.hear("NetStream.Play.Complete", DEADLINE);
    wire.hear("NetStream.Play.Stop", DEADLINE);
}

#[test]
fn what_is_no_film_is_not_found() {
    let library = Library::make();
    fs::write(library.file("notes.mp4"), "no film").unwrap();
    fs::write(library.file(".hidden.mp4"), "no film").unwrap();
    let server = library.serve();
    for (name, code) in [
        ("films/none", "NetStream.Play.StreamNotFound"),
        ("films/none.mp4", "NetStream.Play.StreamNotFound"),
        ("films/../films/plain", "NetStream.Play.StreamNotFound"),
        ("films/.hidden", "NetStream.Play.StreamNotFound"),
        ("mp3:films/plain", "NetStream.Play.StreamNotFound"),
        ("films/notes", "NetStream.Play.Failed"),
    ] {
        let mut wire = Wire::connect(server.addr("rtmp"), &[]);
        wire.play(name);
        wire.hear(code, DEADLINE);
        wire.hear_all(DEADLINE);
        assert!(!wire.has_heard("NetStream.Play.Start"), "{name}");
    }
}

#[test]
fn a_live_stream_wins_over_a_film_of_its_name() {
    let library = Library::make();
    let server = library.serve();
    let stream = format!("{FOLDER}/film");
    let clip = Clip::Flv.seconds(SECONDS);
    let mut publisher = publish_rtmp(&server, &clip, &stream);
    // A player that requests recorded media gets the file.
    let recorded = rtmpdump(&server, "films/film", &[]);
    assert_whole("film", &recorded, &library.file("film.flv"));
    let mut player = Player::Ffmpeg.start(&url(&server, "film"));
    wait_until("a listener of the stream", || {
        server.metrics().sum("carillon_listeners", &[]) == 1.0
    });
    assert!(publisher.wait(DEADLINE).success(), "{}", publisher.stderr());
    player.wait(DEADLINE);
    let sent = framemd5::video(&framemd5::decoded(&clip));
    let join = framemd5::join(&sent, &player.pictures(), 0);
    assert!(
        join.as_ref().is_ok_and(|join| join.matched > RATE),
        "{join:?}"
    );
}

#[test]
fn flv_begins_at_any_tag_over_http() {
    let library = Library::make();
    let server = library.serve();
    let file = fs::read(library.file("film.flv")).unwrap();
    let path = format!("/{FOLDER}/film.flv");
    let listed = Tool::ffprobe()
        .args("-v error -select_streams v -show_entries packet=pos,flags -of csv=p=0".split(' '))
        .arg(library.file("film.flv"))
        .run(DEADLINE);
    let listed = String::from_utf8(listed).unwrap();
    let keyframes: Vec<usize> = listed
        .lines()
        .filter(|line| line.contains('K'))
        .map(|line| line.split(',').next().unwrap().parse().unwrap())
        .collect();
    let from = keyframes[7];
    let answer = server.get(&format!("{path}?start={from}"));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("video/x-flv"));
    assert_eq!(answer.header("accept-ranges"), None);
    assert!(answer.body.ends_with(&file[from..]) && answer.body.starts_with(b"FLV\x01\x05"));
    let received = library.file("received.flv");
    fs::write(&received, &answer.body).unwrap();
    let all = framemd5::video(&framemd5::packets(library.file("film.flv")));
    let got = framemd5::video(&framemd5::packets(&received));
    assert_eq!(got, all[7 * RATE..]);
    assert!(!framemd5::decoded(&received).is_empty());
    for start in ["0", "13", "5000000000", &(from + 1).to_string(), "x"] {
        let answer = server.get(&format!("{path}?start={start}"));
        assert_eq!(
            (answer.status, answer.body.len()),
            (200, file.len()),
            "{start}"
        );
    }
}
