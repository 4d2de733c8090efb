//! The usual HLS players on pages play a stream with their defaults, whatever its keyframes: soon, and without losing frames.
//!
//! The control is the same player on plain HLS that ffmpeg writes and nginx serves, in the same run: the machine's delays and
//! dropped frames show there, too.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{FileServer, PUBLISH_KEY, Process, Server, Tool, hls_clients};

use crate::support::browser::Browser;
use crate::support::page_server::PageServer;
use crate::support::{wait_for_stream, wait_until};

/// Time for which frames are counted, from the first one on.
const WATCHED: Duration = Duration::from_secs(20);
/// Share of the control's frames that are shown, in per cent.
const SHARE: u64 = 90;
/// Longest time until a frame is shown once there is a keyframe, in milliseconds.
const FIRST_MS: f64 = 3_000.0;
/// Additional milliseconds for VHS (video.js): it assumes that the growing segment lasts for the target duration, 6 s, and
/// begins `PART-HOLD-BACK` before that end: up to 4.5 s ahead of the available media. With the keyframe after that, a frame
/// comes within 6.5 s.
const AHEAD_MS: f64 = 1_500.0;
/// Intervals between keyframes in seconds.
const GROUPS: [u32; 3] = [2, 4, 10];
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Returns an ffmpeg that encodes in real time.
fn encoder(group: u32) -> Tool {
    Tool::ffmpeg()
        .args(["-re", "-f", "lavfi", "-i", "testsrc2=size=192x108:rate=25"])
        .args(["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100"])
        .args(["-c:v", "libx264", "-preset", "ultrafast"])
        .args(["-threads", "1", "-bf", "0", "-b:v", "200k"])
        .args(["-pix_fmt", "yuv420p", "-sc_threshold", "0", "-g"])
        .arg((group * 25).to_string())
        .args(["-c:a", "aac", "-b:a", "96k"])
}

/// Starts an encoder that writes plain HLS to files.
fn to_files(folder: &Path) -> Process {
    encoder(2)
        .args(["-f", "hls", "-hls_time", "2", "-hls_list_size", "6"])
        .args(["-hls_flags", "delete_segments"])
        .arg(folder.join("index.m3u8"))
        .start()
}

/// Watches a player: returns the milliseconds to the first frame, and the frames in [`WATCHED`] from then on.
fn watch(player: &str, library: &str, url: &str) -> (f64, u64) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/hls/defaults.html");
    let library = hls_clients().join("node_modules").join(library);
    let pages = PageServer::start(vec![
        ("defaults.html", "text/html", std::fs::read(page).unwrap()),
        (
            "player.js",
            "text/javascript",
            std::fs::read(library).unwrap(),
        ),
    ]);
    let browser = Browser::open();
    browser.go(&pages.url(&format!("defaults.html?player={player}&url={url}")));
    let look = || browser.run("return window.seen();");
    let mut seen = Value::Null;
    wait_until(&format!("a picture of {url} by {player}"), || {
        seen = look();
        seen["first"].is_number()
    });
    let began = Instant::now();
    while began.elapsed() < WATCHED {
        std::thread::sleep(LOOK_INTERVAL);
    }
    let seen_then = look();
    assert!(
        seen_then["failure"].is_null(),
        "{player}, {url}: {seen_then}"
    );
    let frames = |seen: &Value| seen["frames"].as_u64().unwrap_or_default();
    let count = frames(&seen_then) - frames(&seen);
    (seen["first"].as_f64().unwrap_or(f64::MAX), count)
}

fn plays_smoothly(player: &str, library: &str) {
    let server = Server::start();
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    // Pages of other origins may read the files.
    let files = FileServer::of(folder, "add_header Access-Control-Allow-Origin *;");
    let _encoder = to_files(files.folder());
    let publishers = GROUPS.map(|group| {
        let stream = format!("live/every{group}");
        let publisher = encoder(group)
            .args(["-f", "flv", &server.rtmp_url(&stream, PUBLISH_KEY)])
            .start();
        (group, stream, publisher)
    });
    for (_, stream, _) in &publishers {
        wait_for_stream(&server, stream);
    }
    wait_until("plain HLS", || {
        let playlist = std::fs::read_to_string(files.folder().join("index.m3u8"));
        playlist.is_ok_and(|playlist| playlist.matches("#EXTINF").count() >= 4)
    });
    let plain = format!("http://{}/index.m3u8", files.addr());
    let (control_first, control) = watch(player, library, &plain);
    println!("{player}, plain: {control_first:.0} ms, {control} pictures");
    let mut said = Vec::new();
    for (group, stream, _) in &publishers {
        let url = server.http_url(&format!("/{stream}/index.m3u8"));
        let (first, count) = watch(player, library, &url);
        println!("{player}, a keyframe every {group} s: {first:.0} ms, {count} pictures");
        let ahead = if player == "video.js" { AHEAD_MS } else { 0.0 };
        let allowed = FIRST_MS + ahead + f64::from(group * 1_000);
        if first > allowed || count * 100 < control * SHARE {
            said.push(format!(
                "every {group} s: {first:.0} ms, {count} of {control}"
            ));
        }
    }
    assert!(said.is_empty(), "{player}: {}", said.join("; "));
}

#[test]
fn hls_js_does() {
    plays_smoothly("hls.js", "hls.js/dist/hls.min.js");
}

/// This version runs on sites that have not been updated for years.
#[test]
fn hls_js_of_2020_does() {
    plays_smoothly("hls.js", "hls.js-0.14/dist/hls.min.js");
}

#[test]
fn shaka_does() {
    plays_smoothly("shaka", "shaka-player/dist/shaka-player.compiled.js");
}

#[test]
fn video_js_does() {
    plays_smoothly("video.js", "video.js/dist/video.min.js");
}
