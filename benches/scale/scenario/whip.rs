//! Publishers over WebRTC.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{PUBLISH_KEY, Server, Tool};

use crate::audience::Report;
use crate::bench::Bench;
use crate::contest::{BEFORE, OURS, serve, serve_build};
use crate::figure::{Against, Target, Unit};

const PUBLISHERS: u64 = 200;
/// Connections begun per second: a handshake costs both sides a millisecond.
const RAMP: u64 = 50;
const SETTLE: Duration = Duration::from_secs(3);
const END_PATIENCE: Duration = Duration::from_secs(60);
/// Bit rates of each publisher's video and audio: 1 Mb/s with the packets' overhead.
const VIDEO_RATE: &str = "900k";
const AUDIO_RATE: &str = "96k";

const SETTINGS: &[(&str, &str, &str)] = &[("webrtc", "listen", "\"127.0.0.1:0\"")];
/// Metrics of the packets that publishers sent and the server did not receive, and of all received datagrams.
const LOST: (&str, &str) = ("carillon_webrtc_lost_packets_total", "way=\"whip\"");
const RECEIVED: (&str, &str) = ("carillon_webrtc_datagrams_total", "direction=\"received\"");

/// The server's turn.
struct Turn {
    report: Report,
    /// Number of lost packets.
    lost: f64,
    /// Datagrams per publisher and second since the server's start, and bytes per datagram.
    datagrams: f64,
    datagram_bytes: f64,
}

pub(crate) fn publishers(bench: &mut Bench) {
    let (mut turns, mut before, mut floors) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds() {
        let server = serve(bench, SETTINGS);
        let turn = published(bench, round, OURS, &server);
        drop(server);
        if let Some(build) = bench.before() {
            let server = serve_build(&build, SETTINGS);
            before.push(published(bench, round, BEFORE, &server).report.cpu());
        }
        floors.push(floor(bench, round, &turn));
        turns.push(turn);
    }
    let each = |of: &dyn Fn(&Turn) -> f64| turns.iter().map(of).collect::<Vec<f64>>();
    let cpu = each(&|turn| turn.report.cpu());
    let never = Some(Target::NeverAbove(0.0));
    if !before.is_empty() {
        let before = Some(Against::Itself(BEFORE, before));
        bench.figure("CPU", Unit::Core, cpu.clone(), before, None);
    }
    let floor = Some(Against::Floor(floors));
    bench.figure("CPU", Unit::Core, cpu, floor, None);
    let missing = each(&|turn| turn.report.missing());
    bench.figure("publishers lost", Unit::Count, missing, None, never);
    let lost = each(&|turn| turn.lost);
    bench.figure("packets lost", Unit::Count, lost, None, never);
    let wakeups = each(&|turn| turn.report.number("/server/wakeups_per_second"));
    bench.figure("wake-ups in a second", Unit::Count, wakeups, None, None);
    let memory = each(&|turn| turn.report.resident());
    bench.figure("resident memory", Unit::Bytes, memory, None, None);
}

fn published(bench: &mut Bench, round: usize, who: &str, server: &Server) -> Turn {
    let url = format!(
        "whip+http://{PUBLISH_KEY}@{}/live/show{{n}}/whip",
        server.addr("http")
    );
    let mut load = Tool::carillon()
        .args(["load", "publish", &url, "--json"])
        .args(["--video-rate", VIDEO_RATE, "--audio-rate", AUDIO_RATE])
        .args(["--publishers", &PUBLISHERS.to_string()])
        .args(["--ramp", &format!("{RAMP}/s")])
        .args(["--settle", &format!("{}s", SETTLE.as_secs())])
        .args(["--duration", &format!("{}s", bench.window().as_secs())])
        .args(["--pid", &server.pid().to_string()])
        .start();
    let ramp = Duration::from_secs(PUBLISHERS.div_ceil(RAMP));
    load.wait(ramp + SETTLE + bench.window() + END_PATIENCE);
    let report = Report::of(&load);
    let metrics = server.metrics();
    let sum = |(name, label)| metrics.sum(name, &[label]);
    let datagram_bytes = report.number("/bytes") / sum(RECEIVED).max(1.0);
    let bytes = report.number("/window/bytes") / report.number("/window/seconds");
    let turn = Turn {
        lost: sum(LOST),
        datagrams: bytes / datagram_bytes / PUBLISHERS as f64,
        datagram_bytes,
        report,
    };
    bench.note(round, who, &[&turn.report]);
    bench.note_value(
        round,
        who,
        json!({ "datagrams": turn.datagrams, "datagram_bytes": turn.datagram_bytes, "lost": turn.lost }),
    );
    turn
}

/// Returns the floor's processor time for as many packets of the same size.
fn floor(bench: &mut Bench, round: usize, ours: &Turn) -> f64 {
    let here = std::env::current_exe().unwrap_or_else(|error| panic!("this program: {error}"));
    let seconds = bench.window();
    let mut floor = Tool::built(&here.with_file_name("floor"))
        .args(["--take", "--publishers", &PUBLISHERS.to_string()])
        .args(["--rate", &format!("{:.3}", ours.datagrams)])
        .args(["--packet", &format!("{:.0}", ours.datagram_bytes)])
        .args(["--seconds", &seconds.as_secs_f64().to_string()])
        .start();
    floor.wait(SETTLE + seconds + END_PATIENCE);
    let said: Value = serde_json::from_slice(&floor.stdout())
        .unwrap_or_else(|_| panic!("the floor ended early: {}", floor.stderr()));
    bench.note_value(round, "floor", said.clone());
    let number = |name: &str| said[name].as_f64().unwrap_or_default();
    // A floor that took fewer packets must not look cheaper for it.
    number("cpu") * ours.datagrams * PUBLISHERS as f64 / number("packets").max(1.0)
}
