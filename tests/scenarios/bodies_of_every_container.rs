//! `.ts` and `.mp4` as live bodies: players of all makes get every picture as it was sent, from the join on.

use serde_json::Value;
use testkit::framemd5::{self, Frame};
use testkit::{Clip, PUBLISH_KEY, Process, Publisher, Server, Tool, vlc, wait_until};

use crate::browser::Browser;
use crate::support::{DEADLINE, publish_icecast, publish_rtmp, wait_for_stream};

const SECONDS: u32 = 8;
/// Of the pictures that a player gets, so many at least are a run of those sent.
const PICTURES: usize = 50;

/// What is sent, and what it can be had as.
const CASES: [(Clip, &[&str]); 4] = [
    (Clip::Flv, &[".ts", ".mp4"]),
    (Clip::FlvBframes, &[".ts", ".mp4"]),
    (Clip::FlvHevc, &[".ts", ".mp4"]),
    (Clip::FlvAv1, &[".mp4"]),
];

/// A player that writes what it gets to a file, as it came.
fn record(player: &str, url: &str, file: &str) -> Process {
    match player {
        "ffmpeg" => Tool::current_ffmpeg()
            .args(["-y", "-i", url, "-map", "0", "-c", "copy"])
            .args(["-f", "matroska", file])
            .start(),
        "gstreamer" => Tool::new("gst-launch-1.0")
            .args(["-q", "souphttpsrc", &format!("location={url}"), "!"])
            .args(["filesink", &format!("location={file}")])
            .start(),
        _ => panic!("no such player: {player}"),
    }
}

/// An ffmpeg that knows Enhanced RTMP.
fn publish(server: &Server, clip: Clip, seconds: u32) -> Process {
    let url = server.rtmp_url("live/show", PUBLISH_KEY);
    let publisher = Publisher::CurrentFfmpeg.start(&clip.seconds(seconds), &url);
    wait_for_stream(server, "live/show");
    publisher
}

/// The pictures that a file decodes to.
fn pictures(file: &str) -> Vec<Frame> {
    framemd5::video(&framemd5::decoded_by(
        Tool::current_ffmpeg(),
        file,
        &["-an"],
    ))
}

#[test]
fn pictures_are_those_that_were_sent() {
    let folder = tempfile::tempdir().unwrap();
    for (index, (clip, suffixes)) in CASES.into_iter().enumerate() {
        let server = Server::builder().set("ingest", "linger", "\"1s\"").start();
        let mut sender = publish(&server, clip, SECONDS);
        let clip = clip.seconds(SECONDS);
        let mut players = Vec::new();
        for suffix in suffixes {
            let url = server.http_url(&format!("/live/show{suffix}"));
            for player in ["ffmpeg", "gstreamer"] {
                let file = folder.path().join(format!("{index}-{player}{suffix}"));
                let file = file.display().to_string();
                players.push((player, record(player, &url, &file), file));
            }
        }
        let count = players.len() as f64;
        wait_until("everybody to have joined", DEADLINE, || {
            server.metrics().sum("carillon_listeners", &[]) == count
        });
        assert!(sender.wait(DEADLINE).success(), "{}", sender.stderr());
        let sent = framemd5::video(&framemd5::decoded_by(
            Tool::current_ffmpeg(),
            &clip,
            &["-an"],
        ));
        for (player, mut process, file) in players {
            process.wait(DEADLINE);
            let got = pictures(&file);
            let join = framemd5::join(&sent, &got, 0)
                .unwrap_or_else(|mismatch| panic!("{player}: {file}: {mismatch}"));
            assert_eq!((join.lead, join.at % 25), (0, 0), "{player}: {file}");
            assert!(join.matched >= PICTURES, "{player}: {file}: {join:?}");
        }
    }
}

/// VLC decodes, and says which tracks it found.
#[test]
fn vlc_plays_them() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    wait_for_stream(&server, "live/show");
    for suffix in [".ts", ".mp4"] {
        let mut player = vlc()
            .args(["-vv", "--intf", "dummy", "--no-video-title-show"])
            .args(["--vout", "dummy"])
            .args(["--aout", "dummy", "--run-time", "4"])
            .arg(server.http_url(&format!("/live/show{suffix}")))
            .arg("vlc://quit")
            .start();
        player.wait(DEADLINE);
        let said = player.stderr();
        for kind in ["audio", "video"] {
            let found = said.contains(&format!("using {kind} decoder module"));
            assert!(found, "{suffix}: no {kind}: {said}");
        }
        assert!(!said.contains("cannot start codec"), "{suffix}: {said}");
    }
}

/// Chromium takes the body as it comes into a `MediaSource`, and time advances.
#[test]
fn chromium_plays_mp4_by_media_source() {
    const PLAY: &str = r"
        window.failure = null;
        (async () => {
            const answer = await fetch(URL_);
            const type = answer.headers.get('Content-Type');
            if (!MediaSource.isTypeSupported(type)) throw new Error('not supported: ' + type);
            const video = document.createElement('video');
            video.muted = video.autoplay = true;
            document.body.append(video);
            window.video = video;
            const source = new MediaSource();
            video.src = URL.createObjectURL(source);
            await new Promise(done => source.addEventListener('sourceopen', done, {once: true}));
            const buffer = source.addSourceBuffer(type);
            buffer.mode = 'segments';
            const reader = answer.body.getReader();
            for (;;) {
                const {value, done} = await reader.read();
                if (done) break;
                buffer.appendBuffer(value);
                await new Promise(end => buffer.addEventListener('updateend', end, {once: true}));
                if (video.currentTime === 0 && video.buffered.length) {
                    video.currentTime = video.buffered.start(0);
                }
            }
        })().catch(error => { window.failure = String(error); });
        return null;
    ";
    let server = Server::start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(90), "live/show");
    let _radio = publish_icecast(&server, Clip::Adts, 90, "radio.aac");
    wait_for_stream(&server, "live/show");
    wait_for_stream(&server, "radio.aac");
    let browser = Browser::open();
    for (path, has_pictures) in [("/live/show.mp4", true), ("/radio.aac.mp4", false)] {
        browser.go(&server.http_url("/_/style.css"));
        let url = server.http_url(path);
        browser.run(&PLAY.replace("URL_", &format!("'{url}'")));
        let look = "return [window.failure, window.video?.currentTime ?? 0, \
             window.video?.buffered.length ? window.video.buffered.start(0) : null, \
             window.video?.videoWidth ?? 0];";
        let mut seen = Value::Null;
        wait_until("three seconds to have been played", DEADLINE, || {
            seen = browser.run(look);
            assert!(seen[0].is_null(), "{path}: {seen}");
            let start = seen[2].as_f64();
            start.is_some_and(|start| seen[1].as_f64().unwrap_or_default() > start + 3.0)
        });
        assert_eq!(seen[3].as_u64() > Some(0), has_pictures, "{path}: {seen}");
    }
}

/// What cannot be sent as a transport stream is said.
#[test]
fn av1_has_no_transport_stream() {
    let server = Server::start();
    let _publisher = publish(&server, Clip::FlvAv1, 30);
    let listener = server.listen("/live/show.ts");
    assert_eq!(listener.status(), 406);
}
