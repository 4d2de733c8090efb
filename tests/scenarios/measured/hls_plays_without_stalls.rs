//! Players of other makes play a stream over HLS at its pace: none stalls, and none leaps ahead.
//!
//! Each reports the time that it has played, which is compared with the clock. The control is two of them that play the clip
//! from a file at the same time, with the same delays of the machine. `CARILLON_HLS_SECONDS` sets for how long: ten minutes
//! show what happens when segments leave the playlist. `hls_plays_everywhere` checks what each of them decodes and shows.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use testkit::hls::{Watch, latenesses};
use testkit::{Clip, Process, Server, Tool, free_address, hls_clients, vlc};

use crate::support::browser::Browser;
use crate::support::page_server::PageServer;
use crate::support::shows::{played, start_gstreamer};
use crate::support::{publish_rtmp, seconds_of, wait_until};

/// Environment variable that sets the time in seconds.
const SECONDS_VARIABLE: &str = "CARILLON_HLS_SECONDS";
const SECONDS: u64 = 20;
/// Seconds by which a player may be off its position without a stall, either way, besides twice the control. Some players
/// report whole seconds, and those in browsers play a little faster to come closer to the end.
const DRIFT_MAX: f64 = 2.0;
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Seconds of media before a player is compared with the clock: some show a first frame and wait for more.
const SETTLED: f64 = 2.0;
/// Longest time for which VLC may report a position that is too small; see [`by_vlc`].
const STALE: Duration = Duration::from_secs(2);
/// Number of whole segments that are listed before players begin: three target durations, `HOLD-BACK`.
const SEGMENTS: usize = 6;
/// Time by which parts and segments may be listed late.
const SLACK: Duration = Duration::from_millis(500);

/// Function that returns the seconds that a player has played, once it has begun.
type Position = Box<dyn FnMut() -> Option<f64>>;

fn seconds() -> Duration {
    Duration::from_secs(seconds_of(SECONDS_VARIABLE, SECONDS))
}

/// Returns the text after the last `word` of a player's output, up to the next blank.
fn last_after(said: &[u8], word: &str) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let (_, rest) = said.rsplit_once(word)?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// Starts ffmpeg, which reads media at its pace and reports how much it has read.
fn ffmpeg(url: &str) -> Position {
    let player = Tool::ffmpeg()
        .args(["-re", "-i", url, "-stats_period", "0.2"])
        .args(["-progress", "pipe:1", "-f", "null", "-"])
        .start();
    Box::new(move || {
        let micros: f64 = last_after(&player.stdout(), "out_time_us=")?.parse().ok()?;
        Some(micros / 1e6)
    })
}

fn mpv(url: &str) -> Position {
    let player = Tool::new("mpv")
        .args(["--no-config", "--vo=null", "--ao=null"])
        // Each status is a line of its own, because the output is read by lines.
        .args(["--term-status-msg=at ${=playback-time}\n", url])
        .start();
    let mut began = None;
    Box::new(move || {
        let said = [player.stdout(), player.stderr().into_bytes()].concat();
        let at: f64 = last_after(&said, "at ")?.parse().ok()?;
        Some(at - *began.get_or_insert(at))
    })
}

fn gstreamer(url: &str) -> Position {
    let player = start_gstreamer(url);
    Box::new(move || Some(played(&player, "picture")).filter(|seconds| *seconds > 0.0))
}

/// Starts VLC, and polls it over its remote control.
///
/// VLC reports the time up to which it has read, noted once a second, less what it has buffered at the moment. Its timer for
/// playlists, of 6 s here, is late by some 10 ms each time. Once that has used up its lead, which takes minutes, VLC begins its
/// buffer anew at each playlist ("`ES_OUT_SET_(GROUP_)PCR` is called too late"), which costs a frame or two, and makes the
/// buffer longer, up to 5 s. For up to a second it then subtracts the new buffer from the old time: it reports 5 s too little,
/// while its count of shown frames (`stats`) rises at its rate. With playlists that ffmpeg writes and nginx serves, VLC reports
/// times from 2 s too small to 2 s too large in the same way.
///
/// VLC plays at its pace and does not catch up after a stall, so its position is the farthest one that the polls of the last
/// [`STALE`] report.
fn by_vlc(url: &str) -> Position {
    let addr = free_address();
    let player = vlc()
        .args(["--intf", "oldrc", "--rc-fake-tty", "--rc-host"])
        .arg(addr.to_string())
        .args(["--vout", "dummy", "--aout", "dummy"])
        .args(["--no-video-title-show", url])
        .start();
    let mut control = None;
    let mut began = None;
    let clock = Instant::now();
    // Times of the polls, and VLC's lead over the clock at each.
    let mut looks: VecDeque<(Duration, f64)> = VecDeque::new();
    Box::new(move || {
        // The closure keeps the player alive.
        let _player = &player;
        if control.is_none() {
            let socket = TcpStream::connect(addr).ok()?;
            socket.set_read_timeout(Some(LOOK_INTERVAL)).ok()?;
            control = Some(BufReader::new(socket));
        }
        let control = control.as_mut()?;
        control.get_mut().write_all(b"get_time\n").ok()?;
        let mut line = String::new();
        let mut at = None;
        while at.is_none() {
            line.clear();
            control.read_line(&mut line).ok()?;
            at = line
                .trim_matches(['>', ' ', '\r', '\n'])
                .parse::<f64>()
                .ok();
        }
        let at = at.filter(|at| *at > 0.0)?;
        let now = clock.elapsed();
        looks.push_back((now, at - now.as_secs_f64()));
        looks.retain(|(then, _)| now - *then <= STALE);
        let ahead = looks.iter().map(|(_, ahead)| *ahead);
        let at = ahead.fold(f64::MIN, f64::max) + now.as_secs_f64();
        Some(at - *began.get_or_insert(at))
    })
}

fn in_chromium(player: &str, pages: &Arc<PageServer>, url: &str) -> Position {
    let pages = Arc::clone(pages);
    let browser = Browser::open();
    browser.go(&pages.url(&format!("player.html?player={player}&url={url}")));
    let player = player.to_owned();
    Box::new(move || {
        let seen = browser.run("return window.seen();");
        assert!(seen["failure"].is_null(), "{player}: {seen}");
        seen["played"].as_f64()
    })
}

/// Compares a player with the clock; returns its largest deviation in seconds, negative if it stalled.
fn drift(name: &str, mut position: Position, time: Duration) -> f64 {
    let mut first = 0.0;
    wait_until(&format!("{name} to play"), || {
        first = position().unwrap_or_default();
        first > SETTLED
    });
    let began = Instant::now();
    let mut farthest: f64 = 0.0;
    while began.elapsed() < time {
        std::thread::sleep(LOOK_INTERVAL);
        let Some(played) = position() else { continue };
        let drift = played - first - began.elapsed().as_secs_f64();
        if drift.abs() > farthest.abs() {
            farthest = drift;
        }
    }
    println!(
        "{name}: {farthest:+.2} s off at most in {:?}",
        began.elapsed()
    );
    farthest
}

/// Makes a clip that is longer than it takes to start all players and to watch them.
fn clip(time: Duration) -> PathBuf {
    Clip::Flv.seconds(u32::try_from(time.as_secs()).unwrap() + 120)
}

fn published(time: Duration) -> (Server, Process) {
    let server = Server::start();
    let publisher = publish_rtmp(&server, &clip(time), "live/show");
    (server, publisher)
}

#[test]
fn no_player_stands_still() {
    let time = seconds();
    let (server, _publisher) = published(time);
    // Players of segments find as many as they stay behind the end. VLC, which would stay 15 s behind, begins with the segments
    // that there are, and then reaches their end sooner.
    let mut watch = Watch::start(server.addr("http"), "/live/show/index.m3u8");
    watch.follow(|history| history.segments_with_parts().len() >= SEGMENTS);
    drop(watch);
    let url = server.http_url("/live/show/index.m3u8");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/hls/player.html");
    let library =
        |path: &str| std::fs::read(hls_clients().join("node_modules").join(path)).unwrap();
    let pages = Arc::new(PageServer::start(vec![
        ("player.html", "text/html", std::fs::read(page).unwrap()),
        (
            "hls.js",
            "text/javascript",
            library("hls.js/dist/hls.min.js"),
        ),
        (
            "shaka.js",
            "text/javascript",
            library("shaka-player/dist/shaka-player.compiled.js"),
        ),
    ]));
    let clip = clip(time).display().to_string();
    let (drifts, controls) = std::thread::scope(|scope| {
        let (url, pages, clip) = (&url, &pages, &clip);
        let controls = [
            scope.spawn(move || drift("ffmpeg, of a file", ffmpeg(clip), time)),
            scope.spawn(move || drift("mpv, of a file", mpv(clip), time)),
        ];
        let players = [
            scope.spawn(move || drift("ffmpeg", ffmpeg(url), time)),
            scope.spawn(move || drift("mpv", mpv(url), time)),
            scope.spawn(move || drift("GStreamer", gstreamer(url), time)),
            scope.spawn(move || drift("VLC", by_vlc(url), time)),
            scope.spawn(move || drift("hls.js", in_chromium("hls.js", pages, url), time)),
            scope.spawn(move || drift("shaka", in_chromium("shaka", pages, url), time)),
        ];
        (
            players.map(|player| player.join().unwrap()),
            controls.map(|control| control.join().unwrap().abs()),
        )
    });
    let allowed = DRIFT_MAX + 2.0 * controls.into_iter().fold(0.0, f64::max);
    let farthest = drifts.into_iter().map(f64::abs).fold(0.0, f64::max);
    assert!(farthest <= allowed, "{drifts:?} s, of {allowed:.2} s");
}

/// A part is listed within a part target of the one before, a segment within one and a half target durations.
#[test]
fn parts_and_segments_are_listed_in_time() {
    let time = seconds();
    let (server, _publisher) = published(time);
    let mut watch = Watch::start(server.addr("http"), "/live/show/index.m3u8");
    watch.follow_for(time);
    let history = watch.finish();
    assert!(
        history.versions.len() > 20,
        "{} versions",
        history.versions.len()
    );
    let late = latenesses(&history, SLACK);
    assert!(late.is_empty(), "{late:?}");
}
