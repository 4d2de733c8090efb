//! Clients of a file on demand.
//!
//! Both servers send the same file, from the page cache, at the same pace: ten seconds of it at once, and then twice its
//! bit rate. nginx has one worker, `sendfile` and `limit_rate`. Ten viewers watch a live stream of our server, once
//! beside the clients of the file and once alone.

use serde_json::json;
use tempfile::TempDir;
use testkit::{FileServer, PUBLISH_KEY, Server};

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::OURS;
use crate::figure::{Against, Target, Unit};
use crate::source;

const CLIENTS: u64 = 1_000;
const CLIENTS_MANY: u64 = 4_000;
/// Clients of a run that only checks that the scenario works.
const CLIENTS_SHORT: u64 = 50;
/// Joins in a second.
const RAMP: u64 = 500;
/// Seconds until no client is sent what comes at once.
const SETTLE: u64 = 8;
const VIEWERS: u64 = 10;
const CHECKED: &str = "--check=10";

const STREAM: &str = "live/show";
const FILM: &str = "film.mp4";
const FILM_SECONDS: u64 = 300;
const NGINX: &str = "nginx";

/// One turn of our server.
struct Turn {
    files: Option<Report>,
    live: Report,
    late_reads: f64,
}

pub(crate) fn files(bench: &mut Bench) {
    let (few, many) = match bench.is_short() {
        true => (CLIENTS_SHORT, 4 * CLIENTS_SHORT),
        false => (CLIENTS, CLIENTS_MANY),
    };
    let [mut ours, mut more, mut alone] = [const { Vec::new() }; 3];
    let mut theirs = Vec::new();
    for round in 0..bench.rounds() {
        ours.push(turn(bench, round, few));
        alone.push(turn(bench, round, 0));
        let report = of_nginx(bench, few);
        bench.note(round, NGINX, &[&report]);
        theirs.push(report);
        more.push(turn(bench, round, many));
    }
    let sent = |report: &Report| report.number("/window/bytes");
    let cpu = |turns: &[Turn], scale: f64| -> Vec<f64> {
        let files = turns.iter().filter_map(|turn| turn.files.as_ref());
        files.map(|report| report.cpu() * scale).collect()
    };
    let rounds = ours
        .iter()
        .filter_map(|turn| turn.files.as_ref())
        .zip(&theirs);
    let nginx = rounds.map(|(ours, theirs)| theirs.cpu() * sent(ours) / sent(theirs));
    let against = Some(Against::Peer(NGINX, nginx.collect()));
    let target = Some(Target::AtMost(1.0));
    bench.figure("CPU", Unit::Core, cpu(&ours, 1.0), against, target);
    let scale = 1.0 / many as f64;
    let against = Some(Against::Itself(
        "of the fewer",
        cpu(&ours, 1.0 / few as f64),
    ));
    let target = Some(Target::AtMost(1.1));
    let what = format!("CPU for each of {many}");
    bench.figure(&what, Unit::Core, cpu(&more, scale), against, target);
    let delay = |turns: &[Turn]| -> Vec<f64> {
        let delays = turns
            .iter()
            .map(|turn| turn.live.number("/delay/p99") / 1e3);
        delays.collect()
    };
    let against = Some(Against::Itself("alone", delay(&alone)));
    let target = Some(Target::AtMost(1.05));
    let what = "delay p99 of ten live viewers";
    bench.figure(what, Unit::Seconds, delay(&ours), against, target);
    let all = || ours.iter().chain(&more);
    let late = all().map(|turn| turn.late_reads).collect();
    let target = Some(Target::NeverAbove(0.0));
    bench.figure("late reads", Unit::Count, late, None, target);
    let memory = ours.iter().filter_map(|turn| turn.files.as_ref());
    let memory = memory.map(Report::resident_each).collect();
    bench.figure("memory for each", Unit::Bytes, memory, None, None);
    let lost = all()
        .filter_map(|turn| turn.files.as_ref())
        .map(Report::missing);
    let lost = lost.collect();
    bench.losses(lost);
}

/// Our server with a live stream and its viewers, and clients of a file.
fn turn(bench: &mut Bench, round: usize, clients: u64) -> Turn {
    let folder = folder();
    let directory = folder.path().display().to_string();
    let fragment = format!("[[files]]\npath = \"vod\"\ndirectory = {directory:?}");
    let server = Server::builder().release().toml(&fragment).start();
    let to = server.rtmp_url(STREAM, PUBLISH_KEY);
    let media = ["--audio-rate", "96k", "--video-rate", "1000k"].map(str::to_owned);
    let _publisher = source::publish(&to, &media);
    source::wait_for_publisher(&server);
    let pids = [server.pid()];
    let plan = plan(bench, clients);
    let files = (clients > 0).then(|| plan.start(&server.http_url(&format!("/vod/{FILM}")), &pids));
    let viewers = ListenPlan::new(VIEWERS, VIEWERS, bench.window()).option(CHECKED);
    let before = plan.before_window().saturating_sub(viewers.before_window());
    std::thread::sleep(before);
    let live = viewers.start(&server.http_url(&format!("/{STREAM}.flv")), &pids);
    let (files, live) = (files.map(|files| files.finish()), live.finish());
    let late_reads = server.metrics().sum("carillon_late_reads_total", &[]);
    for report in files.iter().chain([&live]) {
        bench.note(round, OURS, &[report]);
    }
    bench.note_value(round, OURS, json!({ "late_reads": late_reads }));
    Turn {
        files,
        live,
        late_reads,
    }
}

fn of_nginx(bench: &Bench, clients: u64) -> Report {
    let folder = folder();
    let bytes = std::fs::metadata(folder.path().join(FILM)).map_or(0, |file| file.len());
    let rate = bytes / FILM_SECONDS;
    let pace = format!("limit_rate {}; limit_rate_after {};", 2 * rate, 10 * rate);
    let server = FileServer::of(folder, &pace);
    let url = format!("http://{}/{FILM}", server.addr());
    plan(bench, clients)
        .start(&url, &server.pids()[..1])
        .finish()
}

fn plan(bench: &Bench, clients: u64) -> ListenPlan {
    ListenPlan::new(clients, RAMP, bench.window()).settle(SETTLE)
}

/// A folder on this program's disk with the film.
fn folder() -> TempDir {
    let film = source::film();
    let beside = film.with_file_name("");
    let folder = tempfile::tempdir_in(&beside);
    let folder = folder.unwrap_or_else(|error| panic!("{}: {error}", beside.display()));
    let to = folder.path().join(FILM);
    std::fs::copy(&film, &to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    folder
}
