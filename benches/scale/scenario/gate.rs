//! An authority that takes five seconds for some publishers, and the delay of all others.
//!
//! The server is the example `slow_authority`: it decides on streams named `slow/…` after five seconds, on all
//! others at once. A thousand publishers send to a listener each; how old their frames are when they come is
//! measured with and without publishers that wait for permission.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testkit::{PUBLISH_KEY, Process, Server, Tool, wait_until};

use crate::bench::Bench;
use crate::contest::serve_build;
use crate::crowd::{Crowd, Report};
use crate::figure::{Against, Target, Unit};

/// Publishers that are permitted at once, each with a listener.
const OTHERS: u64 = 1_000;
/// Beginnings in a second.
const RAMP: u64 = 250;
/// Publishers that wait for permission at any time in the window.
const WAITING: u64 = 50;
/// What the authority takes, and time for a process to start and end.
const TURN_DEADLINE: Duration = Duration::from_secs(60);
/// For all others to be let in.
const PUBLISHED: Duration = Duration::from_secs(60);
/// The delay of the others with publishers that wait, relative to the delay without.
const RATIO_MAX: f64 = 1.1;

pub(crate) fn gate(bench: &mut Bench) {
    let [mut with, mut without] = [Vec::new(), Vec::new()];
    for round in 0..bench.rounds() {
        let server = serve_build(&program(), &[]);
        let _others = publish_others(&server);
        // The order alternates, so that a machine that slows down is on neither side.
        let turns = if round % 2 == 0 { [false, true] } else { [true, false] };
        for is_asked in turns {
            let report = if is_asked {
                while_publishers_wait(&server, || listen(bench, &server))
            } else {
                listen(bench, &server)
            };
            let (who, delays) = if is_asked {
                ("50 publishers wait", &mut with)
            } else {
                ("no publisher waits", &mut without)
            };
            bench.note(round, who, &[&report]);
            delays.push(report.number("/delay/p99") / 1e3);
        }
    }
    let against = Some(Against::Itself("no publisher waits", without));
    let target = Some(Target::AtMost(RATIO_MAX));
    let what = "delay p99 of 1,000 others while 50 publishers wait 5 s for permission";
    bench.figure(what, Unit::Seconds, with, against, target);
}

/// The example, which `cargo xtask bench` has built beside this program.
fn program() -> PathBuf {
    let this = std::env::current_exe().unwrap_or_else(|error| panic!("this program: {error}"));
    let path = this.with_file_name("examples").join("slow_authority");
    assert!(path.is_file(), "{} is not built", path.display());
    path
}

fn publish_others(server: &Server) -> Process {
    let process = Tool::carillon()
        .args(["load", "publish", &server.rtmp_url("live/show{n}", PUBLISH_KEY)])
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
    let crowd = Crowd::new(OTHERS, RAMP, bench.window())
        .option(&format!("--streams={OTHERS}"))
        .option(&format!("--check={OTHERS}"));
    crowd
        .start(&server.http_url("live/show{n}.flv"), &[server.pid()])
        .finish()
}

/// Does `work` while publishers come, wait for permission, get it and leave, one group after another.
fn while_publishers_wait<T>(server: &Server, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let groups = scope.spawn(|| {
            let mut groups = 0;
            while !is_over.load(Ordering::Relaxed) {
                publish_slowly(server, groups);
                groups += 1;
            }
            groups
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        match groups.join() {
            Ok(groups) => assert!(groups > 0, "no publisher has waited"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        done
    })
}

/// A group of publishers, each of which waits for the authority and sends for a second.
fn publish_slowly(server: &Server, group: u64) {
    let url = server.rtmp_url(&format!("slow/group{group}-{{n}}"), PUBLISH_KEY);
    let mut load = Tool::carillon()
        .args(["load", "publish", &url, "--json", "--audio-rate", "64k"])
        .args(["--publishers", &WAITING.to_string()])
        .args(["--ramp", &format!("{WAITING}/s")])
        .args(["--settle", "0s", "--duration", "1s"])
        .start();
    load.wait(TURN_DEADLINE);
}
