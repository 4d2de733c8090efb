//! Strangers request playlists with queries of their own, by the thousand, and read nothing: the server's memory grows little,
//! the server releases what it held for them, and a viewer with low latency receives its parts as before.
//!
//! One run compares an attack with as many harmless requests. All are on the loopback, and bounded in number and time.

use std::any::Any;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use testkit::{Certificate, Clip, Process, Server, Tool, http, webhooks};

use crate::support::{
    DEADLINE, End, connect_from, media_playlist, repeat_rtmp, script, wait_until,
};

const LIVE: &str = "/live/show/hls/live.m3u8";
const FILM: &str = "/vod/long.mp4/index.m3u8";

/// Length in seconds of a film with a keyframe each six seconds: a playlist of 1,200 lines.
const FILM_SECONDS: u32 = 7_200;
const KEYFRAMES: u32 = 6;

/// Length of the longest query that playlists repeat, and of one as long as a head allows; over HTTP/2 heads are half as long.
const ACCEPTED: usize = 1_024;
const REFUSED: usize = 14_000;
const REFUSED_BY_HTTP2: usize = 7_000;

/// Numbers of unread replies, of connections over HTTP/2 and of requests on each, in an attack.
const UNREAD: usize = 60;
const HTTP2_CONNECTIONS: usize = 5;
const HTTP2_REQUESTS: usize = 16;
const PLAYLISTS: usize = 1_000;

/// Length of parts, short enough that a viewer learns of many.
const PART: &str = "\"200ms\"";

/// Length of an attack and of its measurement.
const SPAN: Duration = Duration::from_secs(15);

/// Number of attacks, each after as many harmless requests: what the machine does besides differs from one to the next.
const ROUNDS: u8 = 3;

/// Bytes by which an attack may make resident memory grow, and by which a second one may beyond the first.
const GROWTH_MAX: u64 = 96 << 20;
const AGAIN_MAX: u64 = 8 << 20;

/// Bytes by which held memory may differ afterwards: the length of the live playlist varies.
const HELD_APART_MAX: f64 = 65_536.0;

/// Factor by which the age of parts may grow at the 95th percentile, compared with harmless requests.
const AGE_GROWS_MAX: f64 = 1.3;

/// Resolution of dates in playlists: equal ages may be measured a millisecond apart, and ages without an attack are not much
/// longer.
const AGE_STEP: Duration = Duration::from_millis(1);

#[test]
fn playlists_for_strangers_who_read_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    make_film(&folder.path().join("long.mp4"));
    let certificate = Certificate::make();
    let server = certificate
        .serve_at(&["http"], Server::builder().set("hls", "part", PART))
        .toml(&format!(
            "[[files]]\npath = \"vod\"\ndirectory = {:?}\n",
            folder.path().display().to_string()
        ))
        .start();
    let _publisher = repeat_rtmp(&server, Clip::Flv, "live/show");
    wait_until("the playlist", || {
        http::get(server.addr("http"), LIVE, DEADLINE).status == 200
    });
    // The first also fills caches, before memory is looked at.
    let mut calm = vec![Run::of(&server, |server| harmless(server, [127, 0, 1, 1]))];
    let before = server.resident_bytes();
    let held = held(&server);
    let mut attacked = Vec::new();
    for round in 0..ROUNDS {
        if round > 0 {
            calm.push(Run::of(&server, |server| harmless(server, [127, 0, 1, 1])));
        }
        // Each attack comes from another address: the viewers of the last one still have their places.
        let from = [127, 0, 2 + round, 1];
        attacked.push(Run::of(&server, |server| attack(server, from)));
        settle(&server, held);
    }
    println!("{before} bytes; {calm:?}, and {attacked:?}; held {held}");
    let growth = attacked[0].resident.saturating_sub(before);
    assert!(growth <= GROWTH_MAX, "{growth} bytes");
    let more = attacked[1].resident.saturating_sub(attacked[0].resident);
    assert!(more <= AGAIN_MAX, "{more} bytes more");
    for attacked in &attacked {
        assert!(attacked.held > held, "nothing was held of {attacked:?}");
    }
    let age_max = middle(&calm).mul_f64(AGE_GROWS_MAX) + AGE_STEP;
    let age = middle(&attacked);
    assert!(age <= age_max, "{age:?}, of {age_max:?}");
}

/// Returns the median age of some runs.
fn middle(runs: &[Run]) -> Duration {
    let mut ages: Vec<_> = runs.iter().map(|run| run.age).collect();
    ages.sort();
    ages[ages.len() / 2]
}

/// Figures of a viewer and of the server's memory during a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// 95th percentile of the ages of parts at the time a viewer learnt of them.
    age: Duration,
    /// Largest resident memory in bytes.
    resident: u64,
    /// Bytes that the server reported as held once all requests were sent.
    held: f64,
}

impl Run {
    fn of(server: &Server, strangers: impl FnOnce(&Server) -> Vec<Box<dyn Any>>) -> Self {
        let is_over = AtomicBool::new(false);
        let most = AtomicU64::new(0);
        let (ages, held) = thread::scope(|scope| {
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
            let held = held(server);
            thread::sleep(SPAN.saturating_sub(began.elapsed()));
            is_over.store(true, Ordering::Relaxed);
            drop(kept);
            (viewer.join().expect("the viewer watches"), held)
        });
        Self {
            age: percentile_95(ages),
            resident: most.into_inner(),
            held,
        }
    }
}

/// Watches with low latency; returns the age of the newest part each time the viewer learnt of one.
fn ages(server: &Server, is_over: &AtomicBool) -> Vec<Duration> {
    let mut ages = Vec::new();
    let mut path = LIVE.to_owned();
    while !is_over.load(Ordering::Relaxed) {
        let playlist = media_playlist(server, &path);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut segments = playlist.segments.iter().rev();
        let newest = segments.find(|segment| !segment.parts.is_empty());
        let newest = newest.expect("a part");
        let end = newest.date.expect("a time") + newest.parts_duration();
        ages.push(now.expect("after 1970").saturating_sub(end));
        let (segment, part) = playlist.next_part();
        path = format!("{LIVE}?_HLS_msn={segment}&_HLS_part={part}");
    }
    // The first request was not blocked.
    ages.split_off(1)
}

fn percentile_95(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() * 95 / 100]
}

/// Returns the bytes that the server reports as held.
fn held(server: &Server) -> f64 {
    server.metrics().sum("carillon_held_bytes", &[])
}

/// Waits until the server holds no more than before.
fn settle(server: &Server, before: f64) {
    wait_until("the server to let go", || {
        let metrics = server.metrics();
        let of = |kind: &str| metrics.sum("carillon_held_bytes", &[&format!("kind=\"{kind}\"")]);
        let for_strangers = of("answers") + of("files");
        for_strangers == 0.0 && held(server) <= before + HELD_APART_MAX
    });
}

/// Sends as many requests as the strangers do, from clients that read the replies.
fn harmless(server: &Server, from: [u8; 4]) -> Vec<Box<dyn Any>> {
    let films = 2 * (UNREAD + HTTP2_CONNECTIONS * HTTP2_REQUESTS);
    let at_once = Duration::ZERO;
    requests(server, from, (films, at_once, 200), |_| FILM.to_owned());
    requests(server, from, (2 * PLAYLISTS, SPAN, 200), |_| {
        LIVE.to_owned()
    });
    Vec::new()
}

/// Attacks the server; the returned values keep the connections open.
fn attack(server: &Server, from: [u8; 4]) -> Vec<Box<dyn Any>> {
    let mut kept: Vec<Box<dyn Any>> = Vec::new();
    for length in [REFUSED, ACCEPTED] {
        for _ in 0..UNREAD {
            let query = "a".repeat(length);
            let socket = connect_from(from, server.addr("http"), true);
            let mut socket = socket.expect("a connection");
            let head = format!("GET {FILM}?{query} HTTP/1.1\r\nHost: h\r\n\r\n");
            socket.write_all(head.as_bytes()).expect("a request");
            kept.push(Box::new(socket));
        }
    }
    for length in [REFUSED_BY_HTTP2, ACCEPTED] {
        let path = format!("{FILM}?{}", "a".repeat(length));
        kept.push(Box::new(hoard(server, from, &path)));
    }
    for (length, status) in [(ACCEPTED, 200), (REFUSED, 414)] {
        let query = "a".repeat(length - 8);
        requests(server, from, (PLAYLISTS, SPAN / 2, status), |number| {
            format!("{LIVE}?{query}{number:08}")
        });
    }
    kept
}

/// Starts clients of HTTP/2 that read nothing.
fn hoard(server: &Server, from: [u8; 4], path: &str) -> Process {
    let port = server.addr("https").port().to_string();
    let mut command = Command::new(webhooks());
    let from = Ipv4Addr::from(from).to_string();
    command.arg(script("http2_hoarder.py"));
    command.args([&from, &port, path]);
    command.args([HTTP2_CONNECTIONS, HTTP2_REQUESTS].map(|count| count.to_string()));
    let process = Process::start("clients of HTTP/2", &mut command);
    wait_until("all to be asked", || !process.stdout().is_empty());
    process
}

/// Sends this many requests on one connection, evenly over a time; each reply is read and must have this status.
fn requests(
    server: &Server,
    from: [u8; 4],
    (count, over, status): (usize, Duration, u16),
    path: impl Fn(usize) -> String,
) {
    let socket = connect_from(from, server.addr("http"), false);
    let mut socket = socket.expect("a connection");
    let began = Instant::now();
    for number in 0..count {
        let due = over * number as u32 / count as u32;
        thread::sleep(due.saturating_sub(began.elapsed()));
        let head = format!("GET {} HTTP/1.1\r\nHost: h\r\n\r\n", path(number));
        socket.write_all(head.as_bytes()).expect("a request");
        assert_eq!(read_answer(&mut socket), status, "{number}");
    }
}

/// Reads a reply; returns its status.
fn read_answer(socket: &mut TcpStream) -> u16 {
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
    let status = head.split(' ').nth(1).expect("a status");
    status.parse().expect("a number")
}

fn make_film(path: &Path) {
    let source = format!("color=size=64x64:rate=1:duration={FILM_SECONDS}");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &source, "-pix_fmt", "yuv420p"])
        .args(["-c:v", "libx264", "-g", &KEYFRAMES.to_string()])
        .arg(path)
        .run(DEADLINE);
}
