//! Strangers ask for playlists with queries of their own, by the thousand, and read nothing: the server's memory grows by
//! little, what it has held for them is let go of, and a viewer of low latency is sent its parts as before.
//!
//! An attack and as many harmless requests are compared in one run. All are on the loopback, and bounded in number and time.

use std::any::Any;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use socket2::{Domain, Socket, Type};
use testkit::hls::MediaPlaylist;
use testkit::{Certificate, Clip, Process, Server, Tool, http, wait_until, webhooks};

use crate::support::{DEADLINE, repeat_rtmp, wait_for_stream};

const LIVE: &str = "/live/show/hls/live.m3u8";
const FILM: &str = "/vod/long.mp4/index.m3u8";

/// A film of two hours with a keyframe each six seconds: a playlist of 1,200 lines.
const FILM_SECONDS: u32 = 7_200;
const KEYFRAMES: u32 = 6;

/// The longest query that playlists repeat, and one as long as a head allows; over HTTP/2 heads are half as long.
const ACCEPTED: usize = 1_024;
const REFUSED: usize = 14_000;
const REFUSED_BY_HTTP2: usize = 7_000;

/// What strangers do in each attack.
const UNREAD: usize = 60;
const HTTP2_CONNECTIONS: usize = 5;
const HTTP2_REQUESTS: usize = 16;
const PLAYLISTS: usize = 1_000;

/// The length of parts, so that a viewer is told of enough.
const PART: &str = "\"200ms\"";

/// How long an attack lasts, and is measured.
const SPAN: Duration = Duration::from_secs(15);

/// Attacks, each after as many harmless requests: what the machine does besides differs from one to the next.
const ROUNDS: u8 = 3;

/// Bytes by which an attack may make resident memory grow, and a second one beyond the first.
const GROWTH_MAX: u64 = 96 << 20;
const AGAIN_MAX: u64 = 8 << 20;

/// Bytes by which what is held may differ afterwards: a playlist of the present is now longer, now shorter.
const HELD_APART_MAX: f64 = 65_536.0;

/// How much older parts may be at the 95th percentile than beside harmless requests.
const AGE_GROWS_MAX: f64 = 1.3;

/// Dates in playlists have steps of a millisecond: ages that are equal may be measured so far apart, and calm ones are not
/// much longer.
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
    wait_for_stream(&server, "live/show");
    wait_until("the playlist", DEADLINE, || {
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
        // From another address: viewers that were there just now have their places still.
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

/// The age in the middle of all runs.
fn middle(runs: &[Run]) -> Duration {
    let mut ages: Vec<_> = runs.iter().map(|run| run.age).collect();
    ages.sort();
    ages[ages.len() / 2]
}

/// What a viewer and the server's memory were like meanwhile.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The 95th percentile of the ages of parts, when a viewer knew of them.
    age: Duration,
    /// The most that was resident, in bytes.
    resident: u64,
    /// What the server said that it held when all had been asked for, in bytes.
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
fn harmless(server: &Server, from: [u8; 4]) -> Vec<Box<dyn Any>> {
    let films = 2 * (UNREAD + HTTP2_CONNECTIONS * HTTP2_REQUESTS);
    let at_once = Duration::ZERO;
    requests(server, from, (films, at_once, 200), |_| FILM.to_owned());
    requests(server, from, (2 * PLAYLISTS, SPAN, 200), |_| {
        LIVE.to_owned()
    });
    Vec::new()
}

/// Returns what keeps the connections.
fn attack(server: &Server, from: [u8; 4]) -> Vec<Box<dyn Any>> {
    let mut kept: Vec<Box<dyn Any>> = Vec::new();
    for length in [REFUSED, ACCEPTED] {
        for _ in 0..UNREAD {
            let query = "a".repeat(length);
            let mut socket = connect_from(server, from, Window::Narrow);
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

/// Clients of HTTP/2 that take nothing.
fn hoard(server: &Server, from: [u8; 4], path: &str) -> Process {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/scenarios/support/http2_hoarder.py"
    );
    let port = server.addr("https").port().to_string();
    let mut command = Command::new(webhooks());
    let from = Ipv4Addr::from(from).to_string();
    command.args([script, &from, &port, path]);
    command.args([HTTP2_CONNECTIONS, HTTP2_REQUESTS].map(|count| count.to_string()));
    let process = Process::start("clients of HTTP/2", &mut command);
    wait_until("all to be asked", DEADLINE, || !process.stdout().is_empty());
    process
}

/// So many requests on one connection, evenly over a time, whose answers are read and have this status.
fn requests(
    server: &Server,
    from: [u8; 4],
    (count, over, status): (usize, Duration, u16),
    path: impl Fn(usize) -> String,
) {
    let mut socket = connect_from(server, from, Window::Wide);
    let began = Instant::now();
    for number in 0..count {
        let due = over * number as u32 / count as u32;
        thread::sleep(due.saturating_sub(began.elapsed()));
        let head = format!("GET {} HTTP/1.1\r\nHost: h\r\n\r\n", path(number));
        socket.write_all(head.as_bytes()).expect("a request");
        assert_eq!(read_answer(&mut socket), status, "{number}");
    }
}

/// How much of an answer the system takes of which a client reads nothing: as much as it will, or hardly any, so that the
/// server has the rest.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Window {
    Wide,
    Narrow,
}

/// A connection from a loopback address.
fn connect_from(server: &Server, from: [u8; 4], window: Window) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    if window == Window::Narrow {
        socket.set_recv_buffer_size(4_096).expect("a window");
        socket.set_tcp_mss(536).expect("small packets");
    }
    let from = SocketAddr::from((from, 0));
    socket.bind(&from.into()).expect("a loopback address");
    socket
        .connect(&server.addr("http").into())
        .expect("a connection");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    socket.into()
}

/// Reads an answer. Returns its status.
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
