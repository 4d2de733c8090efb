//! Low-latency HLS: a thousand viewers, compared with servers of files and of HLS, and waiting requests.
//!
//! A part is complete when the publisher sends the first frame after it, because that frame ends it; the part's delay runs from
//! then to the arrival of the part's last byte at a viewer's socket, as reported by the kernel. One thread reads for all
//! viewers, and its lateness is not part of the server's delay. Frames carry the time of their sending, and checked viewers
//! read it. Publisher, server and viewers share the machine's clock. A muxer that learns a frame's duration from the next frame
//! ends a part only with the second frame after it: at 25 per second, that alone is 40 ms.
//!
//! Viewers request the part at which the playlist hints, according to RFC 8216bis §4.4.5.3, and the next playlist; both
//! requests wait at the server.
//!
//! nginx serves the same playlist, parts and segments from files in memory, which are copied from our server as they appear. It
//! cannot hold a request, so its viewers are paced: each requests the playlist when its next part is due. All requests use
//! persistent HTTP/1.1 connections, two for each viewer, and are equally many per viewer and second in both turns; the figure
//! says how many. Each server runs with its defaults, nginx with one worker process. MediaMTX has parts and segments of the
//! same length. It lists audio as a separate rendition, which the viewers do not follow, so its cost is scaled to as many
//! bytes.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::hls::{BlockedReloads, Mirror, Watch, reload_at_rest};
use testkit::{FileServer, MediaMtx, PUBLISH_KEY, Server, Signal, need_descriptors, wait_until};

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::{OURS, serve};
use crate::figure::{Against, Target, Unit};
use crate::source;

const STREAM: &str = "live/show";
const PLAYLIST: &str = "/live/show/index.m3u8";
const NAME: &str = "show";

const VIEWERS: u64 = 1_000;
/// Number of viewers in a run that only checks that the scenario works.
const VIEWERS_SHORT: u64 = 100;
/// Joins per second.
const RAMP: u64 = 200;
/// Viewers whose frames are read, with every server.
const CHECKED: &str = "--check=100";
/// Option for servers that hold requests.
const HINTS: &str = "--hints";
/// Seconds until all viewers are in step with the parts.
const SETTLE: u64 = 8;
/// Maximum delay in seconds.
const SERVED_MAX: f64 = 0.02;

const NGINX: &str = "nginx, files in memory";
const MEDIAMTX: &str = "MediaMTX";

/// Number of requests that wait at the same time.
const RELOADS: usize = 2_000;
/// Time for which they wait while the server is watched. The server gives up on them after 18 s.
const QUIET: Duration = Duration::from_secs(10);
/// Time limit for accepting all connections.
const ACCEPT_DEADLINE: Duration = Duration::from_secs(60);
/// Permitted growth of resident memory in bytes while nothing happens: allocators work in the background.
const GROWTH_MAX: f64 = (1 << 20) as f64;
/// Settings that let the publisher stay although it is silent for longer than the default allows.
const PATIENT: &[(&str, &str, &str)] = &[("ingest", "source_timeout", "\"10m\"")];

/// Measurements of one server, one report per round.
#[derive(Default)]
struct Turns(Vec<Report>);

impl Turns {
    fn each(&self, of: impl Fn(&Report) -> f64) -> Vec<f64> {
        self.0.iter().map(of).collect()
    }

    /// Returns the cost of these turns for as much of something as our turns did.
    fn cpu_beside(&self, ours: &Self, of: impl Fn(&Report) -> f64) -> Vec<f64> {
        let rounds = self.0.iter().zip(&ours.0);
        let cpus = rounds.map(|(theirs, ours)| theirs.cpu() * of(ours) / of(theirs));
        cpus.collect()
    }
}

fn media() -> Vec<String> {
    let words = ["--video-rate", "1000k", "--audio-rate", "96k"];
    words.map(str::to_owned).into()
}

fn requests(report: &Report) -> f64 {
    report.number("/hls/requests")
}

fn bytes(report: &Report) -> f64 {
    report.number("/window/bytes")
}

pub(crate) fn thousand(bench: &mut Bench) {
    let viewers = if bench.is_short() {
        VIEWERS_SHORT
    } else {
        VIEWERS
    };
    let plan = ListenPlan::new(viewers, RAMP, bench.window())
        .settle(SETTLE)
        .option(CHECKED);
    let hinted = plan.clone().option(HINTS);
    let program = MediaMtx::program();
    let [mut ours, mut files, mut mediamtx] =
        [Turns::default(), Turns::default(), Turns::default()];
    for round in 0..bench.rounds() {
        let server = serve(bench, &[]);
        let to = server.rtmp_url(STREAM, PUBLISH_KEY);
        let publisher = source::publish(&to, &media());
        source::wait_for_publisher(&server);
        let url = format!("hls+http://{}{PLAYLIST}", server.addr("http"));
        let report = hinted.start(&url, &[server.pid()]).finish();
        bench.note(round, OURS, &[&report]);
        note_hls(bench, round, OURS, &report);
        ours.0.push(report);

        let report = of_files(&plan, &server);
        bench.note(round, NGINX, &[&report]);
        note_hls(bench, round, NGINX, &report);
        files.0.push(report);
        drop(publisher);
        drop(server);

        if let Ok(program) = &program {
            let server = MediaMtx::start(program);
            let _publisher = source::publish(&server.rtmp_url(NAME), &media());
            let playlist = server.playlist(NAME);
            source::wait_for_mount(server.http_addr(), &playlist);
            let url = format!("hls+http://{}/{playlist}", server.http_addr());
            let report = hinted.start(&url, &[server.pid()]).finish();
            bench.note(round, MEDIAMTX, &[&report]);
            note_hls(bench, round, MEDIAMTX, &report);
            mediamtx.0.push(report);
        }
    }
    judge(bench, viewers, &ours, &files);
    let cpu = ours.each(Report::cpu);
    match program {
        Ok(_) => {
            let theirs = Against::Peer(MEDIAMTX, mediamtx.cpu_beside(&ours, bytes));
            let target = Some(Target::AtMost(0.5));
            bench.figure("CPU", Unit::Core, cpu, Some(theirs), target);
        }
        Err(why) => bench.fail(&why),
    }
}

/// Runs nginx's turn; the files come from our server.
fn of_files(plan: &ListenPlan, server: &Server) -> Report {
    let files = FileServer::start();
    let _mirror = Mirror::start(server.addr("http"), PLAYLIST, files.folder());
    let url = format!("hls+http://{}{PLAYLIST}", files.addr());
    // The master, and with it its worker.
    let paced = plan.clone().option("--paced");
    paced.start(&url, &files.pids()[..1]).finish()
}

/// Records details that the figures do not show.
fn note_hls(bench: &mut Bench, round: usize, who: &str, report: &Report) {
    let hls = &report.json()["hls"];
    let found = [
        "requests",
        "violations",
        "refused",
        "jumps",
        "skipped",
        "stall",
        "part_served",
        "hinted",
    ]
    .map(|name| (name.to_owned(), hls[name].clone()));
    bench.note_value(round, who, json!(serde_json::Map::from_iter(found)));
}

fn judge(bench: &mut Bench, viewers: u64, ours: &Turns, files: &Turns) {
    let served = ours.each(|report| report.number("/hls/part_served/p99") / 1e3);
    let target = Some(Target::AtMost(SERVED_MAX));
    bench.figure("part served p99", Unit::Seconds, served, None, target);
    let cpu = ours.each(Report::cpu);
    let theirs = Against::Peer(NGINX, files.cpu_beside(ours, requests));
    let target = Some(Target::AtMost(0.8));
    bench.figure("CPU", Unit::Core, cpu, Some(theirs), target);
    let seconds = bench.window().as_secs_f64();
    let rate = |report: &Report| requests(report) / viewers as f64 / seconds;
    let theirs = Against::Peer(NGINX, files.each(rate));
    let own = ours.each(rate);
    bench.figure(
        "requests per viewer and second",
        Unit::Count,
        own,
        Some(theirs),
        None,
    );
    let stalls = ours.each(|report| report.number("/hls/stall/count"));
    let target = Some(Target::NeverAbove(0.0));
    bench.figure("stalls", Unit::Count, stalls, None, target);
    bench.losses(ours.each(Report::missing));
}

pub(crate) fn blocked(bench: &mut Bench) {
    need_descriptors(2 * RELOADS as u64);
    let reloads = if bench.is_short() {
        VIEWERS_SHORT as usize
    } else {
        RELOADS
    };
    let quiet = bench.window().min(QUIET);
    let [mut cpu, mut growth, mut took, mut each, mut lost] = [const { Vec::new() }; 5];
    for round in 0..bench.rounds() {
        let server = serve(bench, PATIENT);
        let to = server.rtmp_url(STREAM, PUBLISH_KEY);
        let publisher = source::publish(&to, &media());
        source::wait_for_publisher(&server);
        let addr = server.addr("http");
        let playlist = Watch::start(addr, PLAYLIST).finish().playlist;
        publisher.signal(Signal::STOP);
        let path = reload_at_rest(addr, &playlist);
        let before = server.resident_bytes() as f64;
        let waiting = BlockedReloads::begin(addr, &path, reloads);
        wait_until("all requests to be accepted", ACCEPT_DEADLINE, || {
            let metrics = server.metrics();
            metrics.sum("carillon_connections", &["door=\"http\""]) >= reloads as f64
        });
        let (began, used) = (Instant::now(), server.cpu_time());
        let resident = server.resident_bytes() as f64;
        let early = waiting.is_answered_within(quiet);
        assert!(!early, "a request was answered although nothing came");
        let used = server.cpu_time().saturating_sub(used).as_secs_f64();
        cpu.push(used / began.elapsed().as_secs_f64());
        growth.push(server.resident_bytes() as f64 - resident);
        each.push((resident - before) / reloads as f64);
        publisher.signal(Signal::CONT);
        let answered = waiting.finish();
        took.push(answered.took.as_secs_f64());
        lost.push((reloads - answered.good) as f64);
        bench.note_value(
            round,
            OURS,
            json!({ "cpu": cpu.last(), "growth_bytes": growth.last(), "bytes_per_request": each.last(),
                "answered_seconds": took.last() }),
        );
    }
    let target = Some(Target::AtMost(0.01));
    bench.figure("CPU while they wait", Unit::Core, cpu, None, target);
    let target = Some(Target::AtMost(GROWTH_MAX));
    bench.figure(
        "memory's growth while they wait",
        Unit::Bytes,
        growth,
        None,
        target,
    );
    bench.figure("memory per request", Unit::Bytes, each, None, None);
    bench.figure("first answer to last", Unit::Seconds, took, None, None);
    let target = Some(Target::NeverAbove(0.0));
    bench.figure("requests without the part", Unit::Count, lost, None, target);
}
