//! A publisher that sends the programme in several sizes (Enhanced RTMP v2, multitrack) is several streams with one audio track
//! and one clock, and stays so when the publisher comes back.

use std::path::Path;

use testkit::http::Listener;
use testkit::{Clip, PUBLISH_KEY, Player, Process, Server, Signal, Tool};

use crate::support::flv;
use crate::support::{DEADLINE, file, play_url, wait_for_stream, wait_until};

/// Names of the streams, with their codecs and frame sizes.
const STREAMS: [(&str, &str, &str); 3] = [
    ("live/show", "h264", "320x180"),
    ("live/show~1", "h264", "160x90"),
    ("live/show~2", "hevc", "240x136"),
];

/// Returns whether a tag is a video frame: `AVCPacketType` 1, or `VideoPacketType` 1 or 3.
fn is_picture(data: &[u8]) -> bool {
    match data {
        [first, ..] if first & 0x80 != 0 => matches!(first & 15, 1 | 3),
        [_, packet, ..] => *packet == 1,
        _ => false,
    }
}

fn publish(server: &Server) -> Process {
    Tool::current_ffmpeg()
        .arg("-re")
        .arg("-i")
        .arg(Clip::FlvSizes.seconds(30))
        .args(["-map", "0", "-c", "copy", "-f", "flv"])
        .arg(server.rtmp_url("live/show", PUBLISH_KEY))
        .start()
}

/// Lists the codecs and sizes of the tracks in a file, as ffmpeg sees them.
fn tracks(path: &Path) -> Vec<String> {
    let said = Tool::current_ffmpeg()
        .args(["-loglevel", "info", "-i"])
        .arg(path)
        .finish(DEADLINE)
        .stderr;
    let lines = said.lines().filter(|line| line.contains("Stream #0:"));
    lines.map(str::to_owned).collect()
}

/// Asserts that a file has one video track of this codec and size, and one AAC track.
fn assert_tracks(what: &str, path: &Path, codec: &str, size: &str) {
    let tracks = tracks(path);
    let fits = |wanted: &[&str]| {
        let mut tracks = tracks.iter();
        tracks.any(|track| wanted.iter().all(|word| track.contains(word)))
    };
    assert_eq!(tracks.len(), 2, "{what}: {tracks:#?}");
    assert!(fits(&["Video: ", codec, size]), "{what}: {tracks:#?}");
    assert!(fits(&["Audio: aac"]), "{what}: {tracks:#?}");
}

/// Returns the video tags (9) or audio tags (8) of a body: their times, and the bytes of audio.
fn media(listener: &Listener, kind: u8) -> Vec<(u32, Vec<u8>)> {
    let tags = flv::media(listener.body()).filter(|tag| tag.kind == kind);
    let tags = tags.filter(|tag| match kind {
        9 => is_picture(tag.data),
        _ => tag.data.get(1) == Some(&1),
    });
    let bytes = |data: &[u8]| if kind == 8 { data.to_vec() } else { Vec::new() };
    tags.map(|tag| (tag.time, bytes(tag.data))).collect()
}

fn last_picture(listener: &Listener) -> u32 {
    flv::times(listener.body(), 9).last().copied().unwrap_or(0)
}

fn read_to(listener: &mut Listener, time: u32) {
    let has = |body: &[u8]| flv::times(body, 9).last() > Some(&time);
    assert!(listener.read_until(DEADLINE, has), "the stream ended early");
}

/// Asserts that two bodies have the same times, and the same audio, for as long as both last.
fn assert_in_step(a: &Listener, b: &Listener) {
    for kind in [8, 9] {
        let [a, b] = [a, b].map(|listener| media(listener, kind));
        let from = a[0].0.max(b[0].0);
        let to = a[a.len() - 1].0.min(b[b.len() - 1].0);
        // Two tags may share a time where one epoch follows another, and one body may end between them.
        let [a, b] = [&a, &b].map(|tags| {
            let common = tags.iter().filter(|(time, _)| (from..to).contains(time));
            common.collect::<Vec<_>>()
        });
        assert!(a.len() > 50, "{} tags of kind {kind} in common", a.len());
        assert_eq!(a, b, "tags of kind {kind}");
    }
}

#[test]
fn each_size_plays_and_continues_when_the_publisher_comes_back() {
    let server = Server::start();
    let mut first = publish(&server);
    for (name, ..) in STREAMS {
        wait_for_stream(&server, name);
    }
    let mut listeners = STREAMS.map(|(name, ..)| server.listen(&format!("/{name}.flv")));
    for listener in &mut listeners {
        read_to(listener, 3_000);
    }
    assert_eq!(server.metrics().sum("carillon_publishers", &[]), 1.0);
    let before = listeners.each_ref().map(last_picture);

    first.kill();
    wait_until("the publisher to be missed", || {
        server.metrics().sum("carillon_publishers", &[]) == 0.0
    });
    let mut second = publish(&server);
    for (listener, before) in listeners.iter_mut().zip(before) {
        read_to(listener, before + 4_000);
        assert!(!listener.ended());
    }
    assert!(second.is_running(), "{}", second.stderr());
    let [show, small, hevc] = &listeners;
    assert_in_step(show, small);
    assert_in_step(show, hevc);
    for ((name, codec, size), listener) in STREAMS.into_iter().zip(&listeners) {
        let body = file(&flv::whole_tags(listener.body()));
        assert_tracks(name, body.path(), codec, size);
    }
}

#[test]
fn each_size_plays_over_rtmp() {
    let server = Server::builder().set("ingest", "linger", "\"1s\"").start();
    let mut publisher = publish(&server);
    for (name, ..) in STREAMS {
        wait_for_stream(&server, name);
    }
    let mut players =
        STREAMS.map(|(name, ..)| Player::CurrentFfmpeg.start(&play_url(&server, name)));
    let mut listener = server.listen("/live/show.flv");
    read_to(&mut listener, 4_000);
    // All players end with their publisher.
    publisher.signal(Signal::TERM);
    publisher.wait(DEADLINE);
    for ((name, codec, size), player) in STREAMS.into_iter().zip(&mut players) {
        player.wait(DEADLINE);
        assert_tracks(name, player.file(), codec, size);
    }
}
