//! WebRTC viewers of a stream in the form in which an encoder sends it over RTMP: its audio is transcoded.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;
use testkit::{Clip, Metrics, PUBLISH_KEY, Process, Server};

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::{BEFORE, OURS, attend, run_floor, serve, serve_build};
use crate::figure::{Against, Target, Unit};
use crate::source;

const LISTENERS: u64 = 1_000;
/// Joins per second: a handshake costs both sides a millisecond.
const RAMP: u64 = 50;
const WINDOW: Duration = Duration::from_secs(60);
/// Window alongside a busy loop: only pauses are measured.
const BUSY_WINDOW: Duration = Duration::from_secs(20);
/// Length in seconds of the clip, which is repeated.
const CLIP_SECONDS: u32 = 60;
const FRAMES_PER_SECOND: f64 = 30.0;
/// Number of listeners that the floor sends to without a pause.
const FLOOR_GROUP: u64 = 50;
/// Number of viewers that decrypt what they receive; the others only count it.
const CHECKED: &str = "--check=10";

const CPU_TO_FLOOR_MAX: f64 = 1.5;
const CPU_MAX: f64 = 0.3;
/// Maximum sends per viewer and second: one for each video frame with the audio that is due, and those of a long keyframe.
const SENDS_MAX: f64 = 35.0;
const MEMORY_EACH_MAX: f64 = 24.0 * 1_024.0;

/// First audience in the search for the largest, the step to the next, and the limit: more than two cores can seal for.
const MOST_FIRST: u64 = 1_000;
const MOST_STEP: u64 = 500;
const MOST_LAST: u64 = 10_000;
const MOST_RAMP: u64 = 100;
const MOST_WINDOW: Duration = Duration::from_secs(20);
/// More viewers than two cores can send to: all of them come, and the accepted ones must not notice the rest.
const TOO_MANY: u64 = 5_000;
/// Share of packets from which on a viewer notices that some are missing.
const LOSS_MAX: f64 = 0.001;

const SHOW: &str = "live/show";
const SETTINGS: &[(&str, &str, &str)] = &[("webrtc", "listen", "\"127.0.0.1:0\"")];

/// Names of the server's metrics about its sessions, with their labels.
mod names {
    pub(super) const REJECTED: &str = "carillon_rejected_total";
    pub(super) const SKIPS: &str = "carillon_skips_total";
    pub(super) const DEGRADED: &str = "carillon_degraded_listeners";
    pub(super) const SENDS: &str = "carillon_webrtc_sends_total";
    pub(super) const DATAGRAMS: (&str, &str) =
        ("carillon_webrtc_datagrams_total", "direction=\"sent\"");
    pub(super) const BLOCKED: &str = "carillon_webrtc_blocked_sends_total";
    pub(super) const UNSENT: &str = "carillon_webrtc_unsent_datagrams_total";
    pub(super) const FAILURES: &str = "carillon_webrtc_failures_total";
    /// Losses that viewers report.
    pub(super) const LOST: (&str, &str) = ("carillon_webrtc_lost_packets_total", "way=\"whep\"");
    pub(super) const NACKED: (&str, &str) =
        ("carillon_webrtc_nacked_packets_total", "way=\"whep\"");
    pub(super) const KEYFRAMES_ASKED: (&str, &str) =
        ("carillon_webrtc_keyframe_requests_total", "way=\"whep\"");
}

/// Result of one turn of the server.
struct Turn {
    report: Report,
    /// Sends per viewer and second.
    sends: f64,
    degraded: f64,
    /// Number of viewers that it refused.
    rejected: f64,
}

impl Turn {
    /// Returns the share of packets that viewers did not receive.
    fn lost(&self) -> f64 {
        let lost = self.report.number("/packets/lost");
        lost / (lost + self.report.number("/packets/received")).max(1.0)
    }
}

/// Longest waits of viewers for the next video packet, in seconds, round by round: ours, and next to it the floor's, which
/// sends each frame to all viewers and sleeps until the next.
#[derive(Default)]
struct Pauses {
    median: [Vec<f64>; 2],
    p99: [Vec<f64>; 2],
}

impl Pauses {
    fn enter(&mut self, ours: &Report, floor: &Report) {
        for (who, report) in [ours, floor].into_iter().enumerate() {
            self.median[who].push(report.number("/picture_gap/p50") / 1e3);
            self.p99[who].push(report.number("/picture_gap/p99") / 1e3);
        }
    }

    fn show(self, bench: &mut Bench, when: &str) {
        for (which, [ours, floor]) in [("median", self.median), ("p99", self.p99)] {
            let what = format!("viewers' longest pause, {which}{when}");
            let floor = Some(Against::Floor(floor));
            bench.figure(&what, Unit::Seconds, ours, floor, None);
        }
    }
}

/// Other work on the machine: a thread that never sleeps.
struct BusyLoop {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BusyLoop {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

pub(crate) fn thousand(bench: &mut Bench) {
    let window = if bench.is_short() {
        bench.window()
    } else {
        WINDOW
    };
    let mut turns = Vec::new();
    let mut floors = Vec::new();
    let mut before = Vec::new();
    let (mut quiet, mut busy) = (Pauses::default(), Pauses::default());
    for round in 0..bench.rounds() {
        let turn = serve_viewers(bench, round, LISTENERS, RAMP, window);
        let floor_report = floor(bench, round, &turn.report, window);
        quiet.enter(&turn.report, &floor_report);
        // A lower cost for fewer bytes must not lower the floor.
        let bytes = |report: &Report| report.number("/window/bytes");
        floors.push(floor_report.cpu() * bytes(&turn.report) / bytes(&floor_report));
        turns.push(turn);
        if let Some(build) = bench.before() {
            let server = serve_build(&build, SETTINGS);
            let plan = ListenPlan::new(LISTENERS, RAMP, window);
            before.push(watched(bench, round, BEFORE, server, plan).report.cpu());
        }
        let _other_work = BusyLoop::start();
        let window = BUSY_WINDOW.min(window);
        let turn = serve_viewers(bench, round, LISTENERS, RAMP, window);
        let floor_report = floor(bench, round, &turn.report, window);
        busy.enter(&turn.report, &floor_report);
    }
    let each = |of: &dyn Fn(&Turn) -> f64| turns.iter().map(of).collect::<Vec<f64>>();
    let number = |path: &'static str| each(&|turn| turn.report.number(path));
    let cpu = each(&|turn| turn.report.cpu());
    let none = Some(Target::NeverAbove(0.0));
    bench.figure(
        "CPU",
        Unit::Core,
        cpu.clone(),
        Some(Against::Floor(floors)),
        Some(Target::AtMost(CPU_TO_FLOOR_MAX)),
    );
    if !before.is_empty() {
        let before = Some(Against::Itself(BEFORE, before));
        bench.figure("CPU", Unit::Core, cpu.clone(), before, None);
    }
    bench.figure("CPU", Unit::Core, cpu, None, Some(Target::AtMost(CPU_MAX)));
    bench.figure(
        "sends to each viewer in a second",
        Unit::Count,
        each(&|turn| turn.sends),
        None,
        Some(Target::AtMost(SENDS_MAX)),
    );
    bench.losses(each(&|turn| turn.report.missing()));
    bench.figure(
        "packets lost",
        Unit::Count,
        number("/packets/lost"),
        None,
        none,
    );
    bench.figure(
        "frames dropped",
        Unit::Count,
        number("/packets/frames_dropped"),
        None,
        none,
    );
    bench.figure(
        "listeners degraded",
        Unit::Count,
        each(&|turn| turn.degraded),
        None,
        none,
    );
    bench.figure(
        "memory per listener",
        Unit::Bytes,
        each(&|turn| turn.report.resident_each()),
        None,
        Some(Target::AtMost(MEMORY_EACH_MAX)),
    );
    bench.figure(
        "join p99 at 50/s",
        Unit::Seconds,
        each(&|turn| turn.report.join_p99()),
        None,
        None,
    );
    quiet.show(bench, "");
    busy.show(bench, ", beside a busy loop");
}

pub(crate) fn most(bench: &mut Bench) {
    let window = MOST_WINDOW.min(bench.window().max(Duration::from_secs(3)));
    let mut table = String::from(
        "| viewers | CPU | memory | packets lost | degraded | join p99 | the machine idle | the load |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let mut carried = 0;
    for listeners in (MOST_FIRST..=MOST_LAST).step_by(MOST_STEP as usize) {
        let turn = serve_viewers(bench, 0, listeners, MOST_RAMP, window);
        let share = turn.lost();
        let Turn {
            report, degraded, ..
        } = turn;
        writeln!(
            table,
            "| {listeners} | {:.1} % | {:.0} MiB | {:.3} % | {degraded:.0} | {:.0} ms | {:.0} % | {} |",
            report.cpu() * 100.0,
            report.resident() / f64::from(1 << 20),
            share * 100.0,
            report.join_p99() * 1e3,
            report.number("/machine/idle") * 100.0,
            report.bottlenecks().join("; "),
        )
        .ok();
        if report.missing() > 0.0 || degraded > 0.0 || share > LOSS_MAX {
            break;
        }
        carried = listeners;
    }
    bench.figure(
        "viewers",
        Unit::Count,
        vec![carried as f64],
        None,
        Some(Target::AtLeast(LISTENERS as f64)),
    );
    bench.add_table(
        "viewers over WebRTC until one sees that it is too many, or is turned away",
        table,
    );
    admission(bench, window);
}

/// Measures accepted viewers while more come than can be sent to.
fn admission(bench: &mut Bench, window: Duration) {
    let turn = serve_viewers(bench, 0, TOO_MANY, MOST_RAMP, window);
    let joined = turn.report.number("/joined");
    let gone = joined - turn.report.number("/alive");
    for (what, value, target) in [
        (
            "viewers let in",
            joined,
            Some(Target::AtLeast(LISTENERS as f64)),
        ),
        (
            "viewers turned away",
            turn.rejected,
            Some(Target::AtLeast(1.0)),
        ),
        (
            "viewers lost that were let in",
            gone,
            Some(Target::NeverAbove(0.0)),
        ),
        (
            "viewers degraded that were let in",
            turn.degraded,
            Some(Target::NeverAbove(0.0)),
        ),
        (
            "packets lost of a million to those let in",
            turn.lost() * 1e6,
            Some(Target::NeverAbove(LOSS_MAX * 1e6)),
        ),
    ] {
        let what = format!("{what}, of {TOO_MANY} that come");
        bench.figure(&what, Unit::Count, vec![value], None, target);
    }
}

/// Runs our server with a publisher and viewers.
fn serve_viewers(
    bench: &mut Bench,
    round: usize,
    listeners: u64,
    ramp: u64,
    window: Duration,
) -> Turn {
    let server = serve(bench, SETTINGS);
    watched(
        bench,
        round,
        OURS,
        server,
        ListenPlan::new(listeners, ramp, window),
    )
}

/// Runs a server with a publisher and viewers.
fn watched(bench: &mut Bench, round: usize, who: &str, server: Server, plan: ListenPlan) -> Turn {
    let _publisher = publish(&server);
    let plan = plan.option(CHECKED);
    let url = format!("whep+http://{}/{SHOW}/whep", server.addr("http"));
    let listeners = plan.listeners as f64;
    let (mut turn, flow) = attend(&server, &[plan], &url);
    let metrics = server.metrics();
    let report = turn.0.remove(0);
    bench.note(round, who, &[&report]);
    bench.note_value(round, who, said(&metrics));
    let sum = |name| metrics.sum(name, &[]);
    Turn {
        report,
        sends: flow.sends_per_second() / listeners,
        degraded: sum(names::SKIPS) + sum(names::DEGRADED),
        rejected: sum(names::REJECTED),
    }
}

fn publish(server: &Server) -> Process {
    let clip = Clip::FlvHd.seconds(CLIP_SECONDS).display().to_string();
    let url = server.rtmp_url(SHOW, PUBLISH_KEY);
    let publisher = source::publish(&url, &["--file".to_owned(), clip]);
    source::wait_for_publisher(server);
    publisher
}

/// Returns the server's counters since its start.
fn said(metrics: &Metrics) -> serde_json::Value {
    let sum = |name| metrics.sum(name, &[]);
    let of = |(name, label)| metrics.sum(name, &[label]);
    json!({
        "sends": sum(names::SENDS),
        "datagrams": of(names::DATAGRAMS),
        "blocked_sends": sum(names::BLOCKED),
        "unsent_datagrams": sum(names::UNSENT),
        "failures": sum(names::FAILURES),
        "lost": of(names::LOST),
        "nacked": of(names::NACKED),
        "keyframes_asked": of(names::KEYFRAMES_ASKED),
        "skips": sum(names::SKIPS),
    })
}

/// Runs the floor, which sends as many packets as the server did, of the same sizes.
fn floor(bench: &mut Bench, round: usize, ours: &Report, window: Duration) -> Report {
    let listener_seconds = LISTENERS as f64 * ours.number("/window/seconds");
    let flow = |kind: &str| {
        let packets = ours.number(&format!("/packets/window_{kind}/packets"));
        let bytes = ours.number(&format!("/packets/window_{kind}/bytes"));
        (packets / listener_seconds, bytes / packets)
    };
    let (pictures, picture_bytes) = flow("video");
    let (audio_frames, audio_bytes) = flow("audio");
    let arguments = [
        ("--srtp", String::new()),
        ("--frames", format!("{FRAMES_PER_SECOND}")),
        ("--packets", format!("{:.4}", pictures / FRAMES_PER_SECOND)),
        ("--packet", format!("{picture_bytes:.0}")),
        ("--sounds", format!("{audio_frames:.3}")),
        ("--sound", format!("{audio_bytes:.0}")),
        ("--listeners", LISTENERS.to_string()),
        ("--group", FLOOR_GROUP.to_string()),
    ];
    let words = arguments
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value]);
    let (process, addr) = run_floor(words.filter(|word| !word.is_empty()));
    let plan = ListenPlan::new(LISTENERS, RAMP.max(LISTENERS / 4), window);
    let listening = plan.start(&format!("srtp://{addr}/"), &[process.pid()]);
    let report = listening.finish();
    bench.note(round, "floor", &[&report]);
    report
}
