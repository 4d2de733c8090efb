//! Players of other makes play every stream over HLS; those that record it receive every video and audio frame as sent, from
//! the join on.
//!
//! Each stream has a title, which its playlist has as a date range. [`EXPECTED`] lists which player plays which stream. No
//! player is left out silently: a player also tries the streams that it cannot play, and has to report an error.

use std::sync::LazyLock;

use Outcome::{Plays, Refuses};
use serde_json::Value;
use testkit::hls::Watch;
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool};

use crate::support::hls_page::{ChromiumPlayer, FRAMES};
use crate::support::shows::{
    AAC, AV1, Coding, H264, HEVC, MP3, OPUS, PLAYLIST, Recorder, SECONDS, Show, check_vlc, played,
    start_gstreamer, start_vlc, wait_for_enough,
};
use crate::support::titles::update_mount;
use crate::support::{
    DEADLINE, media_playlist, server_with_short_linger, wait_for_stream, wait_until,
};

/// Fewest seconds that a player has played of a stream that it is expected to play.
const PLAYED: f64 = 3.0;

/// Expected result of a player with a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Plays,
    /// The player has no decoder, and reports that.
    Refuses,
}

/// Streams, in the order of the columns of [`EXPECTED`].
const SHOWS: [Show; 6] = [
    show("live/h264", Clip::Flv, Some(&H264), &AAC),
    show("live/reordered", Clip::FlvBframes, Some(&H264), &AAC),
    show("live/hevc", Clip::FlvHevc, Some(&HEVC), &AAC),
    show("live/av1", Clip::FlvAv1Opus, Some(&AV1), &OPUS),
    show("radio.aac", Clip::Adts, None, &AAC),
    show("radio.mp3", Clip::Mp3, None, &MP3),
];

/// Media types of each show, for `MediaSource`.
const TYPES: [&str; 6] = [
    "video/mp4; codecs=\"avc1.42C014,mp4a.40.2\"",
    "video/mp4; codecs=\"avc1.64000c,mp4a.40.2\"",
    "video/mp4; codecs=\"hvc1.1.6.L60.90,mp4a.40.2\"",
    "video/mp4; codecs=\"av01.0.00M.08,opus\"",
    "audio/aac",
    "audio/mpeg",
];

/// Expected result of each player with each stream.
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
    picture: Option<&'static Coding>,
    audio: &'static Coding,
) -> Show {
    Show {
        stream,
        clip,
        picture,
        audio,
        bodies: &[PLAYLIST],
    }
}

static ALL: LazyLock<[Show; 6]> = LazyLock::new(|| SHOWS);

/// Returns the streams with the result that a player is expected to have.
fn expected(player: &str) -> impl Iterator<Item = (&'static Show, Outcome)> {
    let row = EXPECTED.iter().find(|(name, _)| *name == player);
    let row = row
        .unwrap_or_else(|| panic!("{player} is not in the table"))
        .1;
    ALL.iter().zip(row)
}

/// Starts a server with every stream, whose playlists have begun.
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
    wait_for_enough(by_ffmpeg.iter().chain(&by_gstreamer));
    publishers.iter_mut().for_each(Process::kill);
    let sent: Vec<_> = ALL
        .iter()
        .map(|show| {
            let clip = show.clip.seconds(SECONDS);
            (show.stream, show.pictures(&clip), show.audio_frames(&clip))
        })
        .collect();
    for mut recorder in by_ffmpeg.into_iter().chain(by_gstreamer) {
        if recorder.name.starts_with("GStreamer") {
            // The recorder continues to send requests long after the end.
            recorder.process.kill();
        }
        let stream = recorder.show.stream;
        let (_, pictures, audio_frames) = sent.iter().find(|(own, ..)| *own == stream).unwrap();
        recorder.check(pictures, audio_frames);
    }
}

/// The streams without AV1, which no player of transport streams knows.
#[test]
fn what_is_recorded_as_transport_stream_is_what_was_sent() {
    const OF_TS: &str = "/index.m3u8?format=ts";
    let folder = tempfile::tempdir().unwrap();
    let (server, mut publishers) = published();
    let shows = ALL.iter().filter(|show| show.stream != "live/av1");
    let recorders: Vec<_> = shows
        .map(|show| Recorder::ffmpeg(&server, show, OF_TS, folder.path()))
        .collect();
    wait_for_enough(&recorders);
    publishers.iter_mut().for_each(Process::kill);
    for recorder in recorders {
        let show = recorder.show;
        let clip = show.clip.seconds(SECONDS);
        recorder.check(&show.pictures(&clip), &show.audio_frames(&clip));
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

/// mpv plays six seconds, and prints the time, the frame number, and its outputs.
#[test]
fn mpv_plays() {
    const STATUS: &str = "--term-status-msg=at ${=time-pos} picture ${=estimated-frame-number}";
    let (server, _publishers) = published();
    let watching: Vec<_> = expected("mpv")
        .map(|(show, outcome)| {
            assert_eq!(outcome, Plays);
            let player = Tool::new("mpv")
                .args(["--no-config", "--vo=null", "--ao=null"])
                .args(["--length=6", STATUS])
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
        let stream = show.stream;
        let last = said.rsplit_once("at ");
        let (_, last) = last.unwrap_or_else(|| panic!("{stream}: {said}"));
        let last: Vec<_> = last.split(' ').collect();
        let played: f64 = last[0].parse().unwrap_or_default();
        assert!(played > PLAYED, "{stream}: {last:?}");
        assert!(said.contains("AO: [null]"), "{stream}: no sound: {said}");
        let has_pictures = said.contains("VO: [null]");
        assert_eq!(has_pictures, show.picture.is_some(), "{stream}: {said}");
        if has_pictures {
            let frame = last[2].split_whitespace().next().unwrap_or_default();
            let frames: u64 = frame.parse().unwrap_or_default();
            assert!(frames > FRAMES, "{stream}: {last:?}");
        }
    }
}

/// Waits until each stream's playlist, which has been requested before, lists as much as players stay behind its end.
fn wait_for_whole_playlists(server: &Server) {
    let playlists = ALL.iter().map(|show| {
        let path = format!("/{}{PLAYLIST}", show.stream);
        Watch::start(server.addr("http"), &path).finish().playlist
    });
    for playlist in playlists.collect::<Vec<_>>() {
        wait_until(&format!("a whole playlist at {playlist}"), || {
            let playlist = media_playlist(server, &playlist);
            let control = playlist.control.as_ref();
            let hold_back = control.and_then(|control| control.hold_back);
            hold_back.is_some_and(|hold_back| playlist.duration() > hold_back)
        });
    }
}

/// GStreamer's `playbin3` takes hlsdemux2, which it prefers. With a playlist shorter than its
/// intended distance from the end, hlsdemux2 (1.22) loses its place.
#[test]
fn gstreamer_plays() {
    let (server, _publishers) = published();
    wait_for_whole_playlists(&server);
    let watching: Vec<_> = expected("GStreamer hlsdemux2")
        .map(|(show, outcome)| {
            assert_eq!(outcome, Plays);
            (start_gstreamer(&url(&server, show)), show)
        })
        .collect();
    for (player, show) in watching {
        for (track, is_there) in [("sound", true), ("picture", show.picture.is_some())] {
            let what = format!("{track} of {}", show.stream);
            if is_there {
                wait_until(&what, || played(&player, track) > PLAYED);
            } else {
                assert_eq!(played(&player, track), 0.0, "{what}");
            }
        }
    }
}

/// The streams are played one after another: a browser has six connections to a server, and a player waits on two.
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
                wait_until(&what, || {
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
    const LIBRARY: &str = "shaka-player/dist/shaka-player.compiled.js";
    plays_in_chromium("shaka", "shaka.js", LIBRARY);
}
