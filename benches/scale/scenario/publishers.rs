//! Many publishers without listeners.

use std::time::Duration;

use testkit::{Nginx, PUBLISH_KEY, Tool};

use crate::audience::Report;
use crate::bench::Bench;
use crate::calls;
use crate::contest::{BEFORE, Peer, serve, serve_build};
use crate::figure::{Against, Target, Unit};

const PUBLISHERS: u64 = 1_000;
/// Connections begun per second.
const RAMP: u64 = 250;
/// Time between the last connection and the window; system calls are counted meanwhile, because counting slows the server down.
const SETTLE: Duration = Duration::from_secs(8);
/// Time for the last publishers to be accepted before calls are counted.
const COUNT_AFTER: Duration = Duration::from_secs(7);
const END_PATIENCE: Duration = Duration::from_secs(60);

/// System calls that read bytes, whatever else they do.
const CALLS: [&str; 5] = ["read", "readv", "recvfrom", "recvmsg", "io_uring_enter"];

pub(crate) fn publishers(bench: &mut Bench) {
    let peer = Peer::Nginx.name();
    let [mut ours, mut theirs] = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    let mut before = Vec::new();
    for round in 0..bench.rounds() {
        let server = serve(bench, &[]);
        let url = server.rtmp_url("live/show{n}", PUBLISH_KEY);
        let (report, calls) = publish(bench, &url, &[server.pid()]);
        bench.note(round, "carillon", &[&report]);
        bench.note_value(
            round,
            "carillon",
            serde_json::json!({ "calls_per_second": calls }),
        );
        ours.0.push(report.cpu());
        ours.1.extend(calls);
        drop(server);

        if let Some(build) = bench.before() {
            let server = serve_build(&build, &[]);
            let url = server.rtmp_url("live/show{n}", PUBLISH_KEY);
            let (report, _) = publish(bench, &url, &[server.pid()]);
            bench.note(round, BEFORE, &[&report]);
            before.push(report.cpu());
        }

        let server = Nginx::with("");
        let (report, calls) = publish(bench, &server.rtmp_url("show{n}"), &server.pids());
        bench.note(round, peer, &[&report]);
        bench.note_value(
            round,
            peer,
            serde_json::json!({ "calls_per_second": calls }),
        );
        theirs.0.push(report.cpu());
        theirs.1.extend(calls);
    }
    if !before.is_empty() {
        let against = Some(Against::Itself(BEFORE, before));
        bench.figure("CPU", Unit::Core, ours.0.clone(), against, None);
    }
    let against = Some(Against::Peer(peer, theirs.0));
    bench.figure(
        "CPU",
        Unit::Core,
        ours.0,
        against,
        Some(Target::AtMost(0.5)),
    );
    let against = Some(Against::Peer(peer, theirs.1));
    bench.figure(
        "receive calls per second",
        Unit::Count,
        ours.1,
        against,
        None,
    );
}

/// Lets all publishers publish to `url`; `pids` are the server's processes, the first of them the parent of the others.
fn publish(bench: &Bench, url: &str, pids: &[u32]) -> (Report, Option<f64>) {
    let ramp = Duration::from_secs(PUBLISHERS.div_ceil(RAMP));
    let mut load = Tool::carillon()
        .args(["load", "publish", url, "--json", "--audio-rate", "100k"])
        .args(["--publishers", &PUBLISHERS.to_string()])
        .args(["--ramp", &format!("{RAMP}/s")])
        .args(["--settle", &format!("{}s", SETTLE.as_secs())])
        .args(["--duration", &format!("{}s", bench.window().as_secs())])
        .args(["--pid", &pids[0].to_string()])
        .start();
    std::thread::sleep(ramp + COUNT_AFTER - calls::COUNT_TIME);
    let calls = calls::per_second(pids, &CALLS);
    load.wait(ramp + SETTLE + bench.window() + END_PATIENCE);
    (Report::of(&load), calls)
}
