//! Strangers ask for playlists with queries of their own, by the thousand, and read nothing: the server's memory grows by
//! little, what it has held for them is let go of, and a viewer of low latency is sent its parts as before.
//!
//! An attack and as many harmless requests are compared in one run. All are on the loopback, and bounded in number and time.

use std::any::Any;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use testkit::hls::MediaPlaylist;
use testkit::{Certificate, Clip, Process, Server, Tool, http, wait_until, webhooks};

use crate::support::{DEADLINE, connect, repeat_rtmp, wait_for_stream};

const LIVE: &str = "/live/show/hls/live.m3u8";
const FILM: &str = "/vod/long.mp4/index.m3u8";

/// A film of two hours with a keyframe each six seconds: a playlist of 1,200 lines.
const FILM_SECONDS: u32 = 7_200;
const KEYFRAMES: u32 = 6;

/// The longest query that playlists repeat, and one as long as a head allows.
const ACCEPTED: usize = 1_024;
const REFUSED: usize = 14_000;

/// What strangers do in each attack.
const UNREAD: usize = 60;
const HTTP2_CONNECTIONS: &str = "5";
const HTTP2_REQUESTS: &str = "16";
const PLAYLISTS: usize = 1_000;

/// How long an attack lasts, and is measured.
const SPAN: Duration = Duration::from_secs(15);

/// Bytes by which an attack may make resident memory grow, and a second one beyond the first.
const GROWTH_MAX: u64 = 96 << 20;
const AGAIN_MAX: u64 = 8 << 20;

/// Bytes by which what is held may differ afterwards: a playlist of the present is now longer, now shorter.
const HELD_APART_MAX: f64 = 65_536.0;

/// How much older parts may be at the 95th percentile than beside harmless requests.
const AGE_GROWS_MAX: f64 = 1.3;

#[test]
fn playlists_for_strangers_who_read_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    make_film(&folder.path().join("long.mp4"));
    let certificate = Certificate::make();
    let server = certificate
        .serve_at(&["http"], Server::builder())
        .toml(&format!(
            "[[files]]\npath = \"vod\"\ndirectory = {:?}\n",
            folder.path().display().to_string()
        ))
        .start();
    let _publisher = repeat_rtmp(&server, Clip::Flv, "live/show");
    wait_for_stream(&server, "live/show");
    wait_until("the playlist", DEADLINE, || {
        http::get(server.addr("http"), LIVE, DEADLINE).status == 200
    });
    let calm = Run::of(&server, harmless);
    let before = server.resident_bytes();
    let held = held(&server);
    let first = Run::of(&server, attack);
    settle(&server, held);
    let second = Run::of(&server, attack);
    settle(&server, held);
    println!("{before} bytes; {calm:?}, then {first:?} and {second:?}; held {held}");
    let growth = first.resident.saturating_sub(before);
    assert!(growth <= GROWTH_MAX, "{growth} bytes");
    let more = second.resident.saturating_sub(first.resident);
    assert!(more <= AGAIN_MAX, "{more} bytes more");
    for attacked in [first, second] {
        let ratio = attacked.age.as_secs_f64() / calm.age.as_secs_f64();
        assert!(ratio <= AGE_GROWS_MAX, "parts are {ratio:.2} times as old");
    }
}

/// What a viewer and the server's memory were like meanwhile.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The 95th percentile of the ages of parts, when a viewer knew of them.
    age: Duration,
    /// The most that was resident, in bytes.
    resident: u64,
}

impl Run {
    fn of(server: &Server, strangers: impl FnOnce(&Server) -> Vec<Box<dyn Any>>) -> Self {
        let is_over = AtomicBool::new(false);
        let most = AtomicU64::new(0);
        let ages = thread::scope(|scope| {
            let viewer = scope.spawn(|| ages(server, &is_over));
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    most.fetch_max(server.resident_bytes(), Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(50));
                }
            });
            let _end = End(&is_over);
            let began = Instant::now();
            let kept = strangers(server);
            thread::sleep(SPAN.saturating_sub(began.elapsed()));
            is_over.store(true, Ordering::Relaxed);
            drop(kept);
            viewer.join().expect("the viewer watches")
        });
        Self {
            age: percentile_95(ages),
            resident: most.into_inner(),
        }
    }
}

/// Ends a run, also when a request has failed.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A viewer of low latency: how old the newest part was whenever it was told of one.
fn ages(server: &Server, is_over: &AtomicBool) -> Vec<Duration> {
    let addr = server.addr("http");
    let mut ages = Vec::new();
    let mut path = LIVE.to_owned();
    while !is_over.load(Ordering::Relaxed) {
        let text = http::get(addr, &path, DEADLINE).text();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let playlist = MediaPlaylist::parse(&text);
        let playlist = playlist.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut segments = playlist.segments.iter().rev();
        let newest = segments.find(|segment| !segment.parts.is_empty());
        let newest = newest.expect("a part");
        let end = newest.date.expect("a time") + newest.parts_duration();
        ages.push(now.expect("after 1970").saturating_sub(end));
        let (segment, part) = playlist.next_part();
        path = format!("{LIVE}?_HLS_msn={segment}&_HLS_part={part}");
    }
    // The first was not waited for.
    ages.split_off(1)
}

fn percentile_95(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() * 95 / 100]
}

/// What the server says that it holds, in bytes.
fn held(server: &Server) -> f64 {
    server.metrics().sum("carillon_held_bytes", &[])
}

/// Waits until the server holds what it held before.
fn settle(server: &Server, before: f64) {
    wait_until("the server to let go", DEADLINE, || {
        let metrics = server.metrics();
        let of = |kind: &str| metrics.sum("carillon_held_bytes", &[&format!("kind=\"{kind}\"")]);
        let for_strangers = of("answers") + of("files");
        for_strangers == 0.0 && held(server) <= before + HELD_APART_MAX
    });
}

/// As many requests as the strangers make, of clients that read.
fn harmless(server: &Server) -> Vec<Box<dyn Any>> {
    let addr = server.addr("http");
    for _ in 0..3 * UNREAD {
        assert_eq!(http::get(addr, FILM, DEADLINE).status, 200);
    }
    playlists(server, |_| LIVE.to_owned());
    Vec::new()
}

/// Returns what keeps the connections.
fn attack(server: &Server) -> Vec<Box<dyn Any>> {
    let mut kept: Vec<Box<dyn Any>> = Vec::new();
    for length in [REFUSED, ACCEPTED] {
        for _ in 0..UNREAD {
            let query = "a".repeat(length);
            let mut socket = connect(server.addr("http"));
            let head = format!("GET {FILM}?{query} HTTP/1.1\r\nHost: h\r\n\r\n");
            socket.write_all(head.as_bytes()).expect("a request");
            kept.push(Box::new(socket));
        }
    }
    for length in [REFUSED / 2, ACCEPTED] {
        kept.push(Box::new(hoard(
            server,
            &format!("{FILM}?{}", "a".repeat(length)),
        )));
    }
    playlists(server, |number| {
        let query = "a".repeat(ACCEPTED - 8);
        format!("{LIVE}?{query}{number:08}")
    });
    kept
}

/// Clients of HTTP/2 that take nothing.
fn hoard(server: &Server, path: &str) -> Process {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/scenarios/support/http2_hoarder.py"
    );
    let port = server.addr("https").port().to_string();
    let mut command = Command::new(webhooks());
    command.args([script, &port, path, HTTP2_CONNECTIONS, HTTP2_REQUESTS]);
    let process = Process::start("clients of HTTP/2", &mut command);
    wait_until("all to be asked", DEADLINE, || !process.stdout().is_empty());
    process
}

/// Requests for playlists on one connection, whose answers are read.
fn playlists(server: &Server, path: impl Fn(usize) -> String) {
    let mut socket = connect(server.addr("http"));
    for number in 0..PLAYLISTS {
        let head = format!("GET {} HTTP/1.1\r\nHost: h\r\n\r\n", path(number));
        socket.write_all(head.as_bytes()).expect("a request");
        read_answer(&mut socket);
    }
}

fn read_answer(socket: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text").to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.expect("a length").parse().expect("a number");
    socket.read_exact(&mut vec![0; length]).expect("a body");
}

fn make_film(path: &Path) {
    let source = format!("color=size=64x64:rate=1:duration={FILM_SECONDS}");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &source, "-pix_fmt", "yuv420p"])
        .args(["-c:v", "libx264", "-g", &KEYFRAMES.to_string()])
        .arg(path)
        .run(DEADLINE);
}
