//! An authority that takes five seconds for some publishers, and the delay of all others.
//!
//! The server is the example `slow_authority`: it decides about streams named `slow/…` after five seconds, about all others at
//! once. A thousand publishers each send to one listener. The age of their frames on arrival is measured while groups of other
//! publishers come and go: those of one turn wait for permission, those of the other, the control, are permitted at once.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testkit::{PUBLISH_KEY, Process, Server, Tool, wait_until};

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::serve_build;
use crate::figure::{Against, Target, Unit};

/// Number of publishers that are permitted at once, each with a listener.
const OTHERS: u64 = 1_000;
/// Connections begun per second.
const RAMP: u64 = 250;
/// Number of publishers in a group that comes and goes.
const WAITING: u64 = 50;
/// Time limit of a group: the authority's five seconds, and time for a process to start and end.
const GROUP_DEADLINE: Duration = Duration::from_secs(60);
/// Time limit for all others to be admitted.
const PUBLISHED: Duration = Duration::from_secs(60);
/// Maximum delay of the others while publishers wait, relative to the control.
const RATIO_MAX: f64 = 1.1;

/// Publishers that come and go alongside the others.
struct Group {
    who: &'static str,
    /// Prefix of their streams' names, by which the authority distinguishes them.
    prefix: &'static str,
    /// Time for which they send once they are permitted, chosen so that both groups stay equally long.
    duration: &'static str,
}

const WAITS: Group = Group {
    who: "50 publishers wait",
    prefix: "slow/",
    duration: "1s",
};
const CONTROL: Group = Group {
    who: "permitted at once",
    prefix: "quick/",
    duration: "6s",
};

pub(crate) fn gate(bench: &mut Bench) {
    let [mut with, mut without] = [Vec::new(), Vec::new()];
    for round in 0..bench.rounds() {
        let mut measure = |group: &Group, delays: &mut Vec<f64>| {
            // A new server for each turn: streams that have ended are kept for a while, and would burden the second turn.
            let server = serve_build(&program(), &[]);
            let _others = publish_others(&server);
            let report = beside(&server, group, || listen(bench, &server));
            bench.note(round, group.who, &[&report]);
            delays.push(report.number("/delay/p99") / 1e3);
        };
        // The order alternates, so that a machine that slows down favours neither side.
        if round % 2 == 0 {
            measure(&CONTROL, &mut without);
            measure(&WAITS, &mut with);
        } else {
            measure(&WAITS, &mut with);
            measure(&CONTROL, &mut without);
        }
    }
    let against = Some(Against::Itself(CONTROL.who, without));
    let target = Some(Target::AtMost(RATIO_MAX));
    let what = "delay p99 of 1,000 others while 50 publishers wait 5 s for permission";
    bench.figure(what, Unit::Seconds, with, against, target);
}

/// Returns the path of the example, which `cargo xtask bench` has built next to this program.
fn program() -> PathBuf {
    let this = std::env::current_exe().unwrap_or_else(|error| panic!("this program: {error}"));
    let path = this.with_file_name("examples").join("slow_authority");
    assert!(path.is_file(), "{} is not built", path.display());
    path
}

fn publish_others(server: &Server) -> Process {
    let process = Tool::carillon()
        .args([
            "load",
            "publish",
            &server.rtmp_url("live/show{n}", PUBLISH_KEY),
        ])
        .args(["--publishers", &OTHERS.to_string()])
        .args(["--ramp", &format!("{RAMP}/s")])
        .args(["--audio-rate", "64k", "--duration", "1h"])
        .start();
    wait_until("all publishers", PUBLISHED, || {
        server.metrics().sum("carillon_publishers", &[]) >= OTHERS as f64
    });
    process
}

fn listen(bench: &Bench, server: &Server) -> Report {
    let plan = ListenPlan::new(OTHERS, RAMP, bench.window())
        .option(&format!("--streams={OTHERS}"))
        .option(&format!("--check={OTHERS}"));
    plan.start(&server.http_url("/live/show{n}.flv"), &[server.pid()])
        .finish()
}

/// Does `work` while groups of publishers come, send and leave, one group after another.
fn beside<T>(server: &Server, group: &Group, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let groups = scope.spawn(|| {
            for number in 0.. {
                publish_group(server, group, number);
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        // The groups must end before a panic continues: the scope waits for them.
        let done = catch_unwind(AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = groups.join() {
            resume_unwind(panic);
        }
        done.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn publish_group(server: &Server, group: &Group, number: u64) {
    let stream = format!("{}group{number}-{{n}}", group.prefix);
    let mut load = Tool::carillon()
        .args(["load", "publish", &server.rtmp_url(&stream, PUBLISH_KEY)])
        .args(["--json", "--audio-rate", "64k"])
        .args(["--publishers", &WAITING.to_string()])
        .args(["--ramp", &format!("{WAITING}/s")])
        .args(["--settle", "0s", "--duration", group.duration])
        .start();
    load.wait(GROUP_DEADLINE);
}
