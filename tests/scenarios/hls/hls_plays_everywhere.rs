//! Players of other makes play every stream over HLS; those that record it get every picture and every frame of
//! sound as sent, from the join on.
//!
//! Each stream has a title, which its playlist has as a date range. [`EXPECTED`] says which player plays which stream. No player is left out silently: what it cannot play it is
//! asked for all the same, and has to say so.

use std::sync::LazyLock;

use Outcome::{Plays, Refuses};
use serde_json::Value;
use testkit::hls::{MediaPlaylist, Watch};
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool, wait_until};

use crate::support::hls_page::{ChromiumPlayer, FRAMES};
use crate::support::shows::{
    AAC, AV1, H264, HEVC, MP3, OPUS, PLAYLIST, Recorder, Show, check_vlc, start_vlc,
};
use crate::support::titles::update_mount;
use crate::support::{DEADLINE, server_with_short_linger, wait_for_stream};

/// Seconds that a player has played, at least, of what it is said to play.
const PLAYED: f64 = 3.0;

/// Whether a player plays a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Plays,
    /// It has no decoder, and says so.
    Refuses,
}

/// In the order of the columns of [`EXPECTED`].
const SHOWS: [Show; 6] = [
    show("live/h264", Clip::Flv, Some(&H264), &AAC),
    show("live/reordered", Clip::FlvBframes, Some(&H264), &AAC),
    show("live/hevc", Clip::FlvHevc, Some(&HEVC), &AAC),
    show("live/av1", Clip::FlvAv1Opus, Some(&AV1), &OPUS),
    show("radio.aac", Clip::Adts, None, &AAC),
    show("radio.mp3", Clip::Mp3, None, &MP3),
];

/// What a `MediaSource` is asked for: the codecs of each show.
const TYPES: [&str; 6] = [
    "video/mp4; codecs=\"avc1.42C014,mp4a.40.2\"",
    "video/mp4; codecs=\"avc1.64000c,mp4a.40.2\"",
    "video/mp4; codecs=\"hvc1.1.6.L60.90,mp4a.40.2\"",
    "video/mp4; codecs=\"av01.0.00M.08,opus\"",
    "audio/aac",
    "audio/mpeg",
];

/// Which player plays which stream.
const EXPECTED: [(&str, [Outcome; 6]); 7] = [
    ("ffmpeg", [Plays; 6]),
    ("GStreamer hlsdemux", [Plays; 6]),
    ("GStreamer hlsdemux2", [Plays; 6]),
    ("VLC", [Plays; 6]),
    ("mpv", [Plays; 6]),
    // Debian's Chromium decodes no HEVC.
    ("hls.js", [Plays, Plays, Refuses, Plays, Plays, Plays]),
    ("shaka", [Plays, Plays, Refuses, Plays, Plays, Plays]),
];

const fn show(
    stream: &'static str,
    clip: Clip,
    picture: Option<&'static crate::support::shows::Coding>,
    sound: &'static crate::support::shows::Coding,
) -> Show {
    Show {
        stream,
        clip,
        picture,
        sound,
        bodies: &[PLAYLIST],
    }
}

static ALL: LazyLock<[Show; 6]> = LazyLock::new(|| SHOWS);

/// The streams with what a player is expected to make of them.
fn expected(player: &str) -> impl Iterator<Item = (&'static Show, Outcome)> {
    let row = EXPECTED.iter().find(|(name, _)| *name == player);
    let row = row
        .unwrap_or_else(|| panic!("{player} is not in the table"))
        .1;
    ALL.iter().zip(row)
}

/// A server with every stream, whose playlists have begun.
fn published() -> (Server, Vec<Process>) {
    let server = server_with_short_linger();
    let publishers = ALL.iter().map(|show| show.publish(&server)).collect();
    for show in ALL.iter() {
        wait_for_stream(&server, show.stream);
        let mount = format!("/{}", show.stream);
        let status = update_mount(server.addr("http"), PUBLISH_KEY, &mount, "song=A%20-%20B");
        assert_eq!(status, 200, "{mount}");
    }
    (server, publishers)
}

fn url(server: &Server, show: &Show) -> String {
    server.http_url(&format!("/{}{PLAYLIST}", show.stream))
}

#[test]
fn what_players_record_is_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut publishers) = published();
    let record =
        |player, record: fn(&Server, &'static Show, &str, &std::path::Path) -> Recorder| {
            let shows = expected(player).map(|(show, outcome)| {
                assert_eq!(outcome, Plays);
                record(&server, show, PLAYLIST, folder.path())
            });
            shows.collect::<Vec<_>>()
        };
    let by_ffmpeg = record("ffmpeg", Recorder::ffmpeg);
    let by_gstreamer = record("GStreamer hlsdemux", Recorder::gstreamer);
    for recorder in by_ffmpeg.iter().chain(&by_gstreamer) {
        let what = format!("some seconds for {}", recorder.name);
        wait_until(&what, DEADLINE, || recorder.has_enough());
    }
    publishers.iter_mut().for_each(Process::kill);
    let sent: Vec<_> = ALL
        .iter()
        .map(|show| {
            let clip = show.clip.seconds(crate::support::shows::SECONDS);
            (show.stream, show.pictures(&clip), show.sounds(&clip))
        })
        .collect();
    for mut recorder in by_ffmpeg.into_iter().chain(by_gstreamer) {
        if recorder.name.starts_with("GStreamer") {
            // It asks for more, long after the end.
            recorder.process.kill();
        }
        let stream = recorder.show.stream;
        let (_, pictures, sounds) = sent.iter().find(|(own, ..)| *own == stream).unwrap();
        recorder.check(pictures, sounds);
    }
}

/// Without AV1, which no player of transport streams knows.
#[test]
fn what_is_recorded_as_transport_stream_is_what_was_sent() {
    const OF_TS: &str = "/index.m3u8?format=ts";
    let folder = tempfile::tempdir().unwrap();
    let (server, mut publishers) = published();
    let shows = ALL.iter().filter(|show| show.stream != "live/av1");
    let recorders: Vec<_> = shows
        .map(|show| Recorder::ffmpeg(&server, show, OF_TS, folder.path()))
        .collect();
    for recorder in &recorders {
        let what = format!("some seconds for {}", recorder.name);
        wait_until(&what, DEADLINE, || recorder.has_enough());
    }
    publishers.iter_mut().for_each(Process::kill);
    for recorder in recorders {
        let show = recorder.show;
        let clip = show.clip.seconds(crate::support::shows::SECONDS);
        recorder.check(&show.pictures(&clip), &show.sounds(&clip));
    }
}

#[test]
fn vlc_plays() {
    let (server, _publishers) = published();
    let watching: Vec<_> = expected("VLC")
        .map(|(show, outcome)| {
            assert_eq!(outcome, Plays);
            (start_vlc(&server, show, PLAYLIST), show)
        })
        .collect();
    for (player, show) in watching {
        check_vlc(player, show, PLAYLIST);
    }
}

/// mpv plays six seconds, and tells the time, the number of the picture, and its outputs.
#[test]
fn mpv_plays() {
    const STATUS: &str = "--term-status-msg=at ${=time-pos} picture ${=estimated-frame-number}";
    let (server, _publishers) = published();
    let watching: Vec<_> = expected("mpv")
        .map(|(show, outcome)| {
            assert_eq!(outcome, Plays);
            let player = Tool::new("mpv")
                .args([
                    "--no-config",
                    "--vo=null",
                    "--ao=null",
                    "--length=6",
                    STATUS,
                ])
                .arg(url(&server, show))
                .start();
            (player, show)
        })
        .collect();
    for (mut player, show) in watching {
        let status = player.wait(DEADLINE);
        let said = format!(
            "{}\n{}",
            String::from_utf8_lossy(&player.stdout()),
            player.stderr()
        );
        assert!(status.success(), "{}: {status}: {said}", show.stream);
        let last = said
            .rsplit_once("at ")
            .map(|(_, last)| last.split(' ').collect::<Vec<_>>());
        let last = last.unwrap_or_else(|| panic!("{}: {said}", show.stream));
        let played: f64 = last[0].parse().unwrap_or_default();
        assert!(played > PLAYED, "{}: {last:?}", show.stream);
        assert!(
            said.contains("AO: [null]"),
            "{}: no sound: {said}",
            show.stream
        );
        let has_pictures = said.contains("VO: [null]");
        assert_eq!(
            has_pictures,
            show.picture.is_some(),
            "{}: {said}",
            show.stream
        );
        if has_pictures {
            let frame = last[2].split_whitespace().next().unwrap_or_default();
            let frames: u64 = frame.parse().unwrap_or_default();
            assert!(frames > FRAMES, "{}: {last:?}", show.stream);
        }
    }
}

/// Waits until each stream's playlist lists as much as players stay behind its end. All have been asked for by then.
fn wait_for_whole_playlists(server: &Server) {
    let playlists = ALL.iter().map(|show| {
        let path = format!("/{}{PLAYLIST}", show.stream);
        Watch::start(server.addr("http"), &path).finish().playlist
    });
    for playlist in playlists.collect::<Vec<_>>() {
        wait_until(&format!("a whole playlist at {playlist}"), DEADLINE, || {
            let text = server.get(&playlist).text();
            let playlist = MediaPlaylist::parse(&text);
            let playlist = playlist.unwrap_or_else(|error| panic!("{error}\n{text}"));
            let hold_back = playlist
                .control
                .as_ref()
                .and_then(|control| control.hold_back);
            hold_back.is_some_and(|hold_back| playlist.duration() > hold_back)
        });
    }
}

/// GStreamer's `playbin3` takes hlsdemux2, which it prefers; its sinks report how far they are. Of a playlist that is
/// shorter than what it wants to stay behind, hlsdemux2 (1.22) loses its place.
#[test]
fn gstreamer_plays() {
    let (server, _publishers) = published();
    wait_for_whole_playlists(&server);
    let watching: Vec<_> = expected("GStreamer hlsdemux2")
        .map(|(show, outcome)| {
            assert_eq!(outcome, Plays);
            let player = Tool::new("gst-launch-1.0")
                .args(["playbin3", "flags=audio+video"])
                .arg(format!("uri={}", url(&server, show)))
                .arg("video-sink=progressreport name=picture update-freq=1 ! fakevideosink")
                .arg("audio-sink=progressreport name=sound update-freq=1 ! fakeaudiosink")
                .start();
            (player, show)
        })
        .collect();
    for (player, show) in watching {
        for (track, is_there) in [("sound", true), ("picture", show.picture.is_some())] {
            let mut said = String::new();
            // `sound (00:00:05): 3 seconds`
            let mut played = || {
                said = String::from_utf8_lossy(&player.stdout()).into_owned();
                let lines = said.split(['\n', '\r']).rev();
                let mut lines = lines.filter_map(|line| line.strip_prefix(track));
                let seconds = lines.next().and_then(|line| {
                    line.split_once("): ")?
                        .1
                        .split(' ')
                        .next()?
                        .parse::<f64>()
                        .ok()
                });
                seconds.unwrap_or_default()
            };
            if is_there {
                let what = format!("{track} of {}", show.stream);
                wait_until(&what, DEADLINE, || played() > PLAYED);
            } else {
                assert_eq!(played(), 0.0, "{}: {track}", show.stream);
            }
        }
    }
}

/// Streams are played one after another: a browser has six connections to a server, and a player waits on two.
fn plays_in_chromium(player: &'static str, script: &'static str, library: &str) {
    let (server, _publishers) = published();
    let chromium = ChromiumPlayer::open(player, script, library);
    for ((show, outcome), media_type) in expected(player).zip(TYPES) {
        let stream = show.stream;
        chromium.go(&url(&server, show));
        let supports = chromium
            .browser
            .run(&format!("return window.supports('{media_type}');"));
        assert_eq!(
            supports,
            Value::Bool(outcome == Plays),
            "{stream}: {media_type}"
        );
        match outcome {
            Refuses => {
                let what = format!("{player} to refuse {stream}");
                let mut seen = Value::Null;
                wait_until(&what, DEADLINE, || {
                    seen = chromium.look();
                    !seen["failure"].is_null()
                });
                assert_eq!(seen["frames"], 0, "{stream}: {seen}");
            }
            Plays => chromium.wait_until_played(show, PLAYED),
        }
    }
}

#[test]
fn hls_js_plays() {
    plays_in_chromium("hls.js", "hls.js", "hls.js/dist/hls.min.js");
}

#[test]
fn shaka_plays() {
    plays_in_chromium(
        "shaka",
        "shaka.js",
        "shaka-player/dist/shaka-player.compiled.js",
    );
}
