//! Clients of a file on demand.
//!
//! Both servers send the same file, from the page cache, at the same pace: 4 MiB of it at once, and then twice its bit rate.
//! nginx has one worker, `sendfile` and `limit_rate`. Ten viewers watch a live stream of our server, once alongside the clients
//! of the file and once alone.

use tempfile::TempDir;
use testkit::{FileServer, PUBLISH_KEY, Server};

use crate::audience::{ListenPlan, Listening, Report};
use crate::bench::Bench;
use crate::contest::OURS;
use crate::figure::{Against, Target, Unit};
use crate::source;

const CLIENTS: u64 = 1_000;
const CLIENTS_MANY: u64 = 4_000;
/// Number of clients in a run that only checks that the scenario works.
const CLIENTS_SHORT: u64 = 50;
/// Joins per second.
const RAMP: u64 = 500;
/// Seconds until the initial burst of every client has been sent.
const SETTLE: u64 = 8;
const VIEWERS: u64 = 10;
const CHECKED: &str = "--check=10";

const STREAM: &str = "live/show";
const FILM: &str = "film.mp4";
const FILM_SECONDS: u64 = 300;
/// Minimum number of bytes that our server sends at once.
const AT_ONCE_BYTES_MIN: u64 = 4 << 20;
const NGINX: &str = "nginx";

pub(crate) fn files(bench: &mut Bench) {
    let (few, many) = match bench.is_short() {
        true => (CLIENTS_SHORT, 4 * CLIENTS_SHORT),
        false => (CLIENTS, CLIENTS_MANY),
    };
    let [mut ours, mut more, mut theirs] = [const { Vec::new() }; 3];
    let [mut beside, mut alone, mut late] = [const { Vec::new() }; 3];
    for round in 0..bench.rounds() {
        for (clients, reports) in [(few, &mut ours), (many, &mut more)] {
            let folder = folder();
            let server = serve(&folder);
            let listening = start(bench, &server, clients);
            let report = listening.finish();
            bench.note(round, OURS, &[&report]);
            late.push(late_reads(&server));
            reports.push(report);
        }
        let report = of_nginx(bench, few);
        bench.note(round, NGINX, &[&report]);
        theirs.push(report);
        beside.push(delay_beside(bench, round, few));
        alone.push(delay_beside(bench, round, 0));
    }
    let sent = |report: &Report| report.number("/window/bytes");
    let cpu = |reports: &[Report], scale: f64| -> Vec<f64> {
        reports.iter().map(|report| report.cpu() * scale).collect()
    };
    let rounds = ours.iter().zip(&theirs);
    let nginx = rounds.map(|(ours, theirs)| theirs.cpu() * sent(ours) / sent(theirs));
    let nginx = Some(Against::Peer(NGINX, nginx.collect()));
    let times = (many / few) as f64;
    let scaled = Some(Against::Itself("fewer, scaled", cpu(&ours, times)));
    let alone = Some(Against::Itself("alone", alone));
    let memory = ours.iter().map(Report::resident_each).collect();
    let (most, never) = (Target::AtMost, Some(Target::NeverAbove(0.0)));
    let what = |clients| format!("CPU of {clients} clients");
    let delays = "delay p99 of ten live viewers".to_owned();
    for (what, unit, values, against, target) in [
        (
            what(few),
            Unit::Core,
            cpu(&ours, 1.0),
            nginx,
            Some(most(1.0)),
        ),
        (
            what(many),
            Unit::Core,
            cpu(&more, 1.0),
            scaled,
            Some(most(1.1)),
        ),
        (delays, Unit::Seconds, beside, alone, Some(most(1.05))),
        ("late reads".to_owned(), Unit::Count, late, None, never),
        (
            "memory for each".to_owned(),
            Unit::Bytes,
            memory,
            None,
            None,
        ),
    ] {
        bench.figure(&what, unit, values, against, target);
    }
    let all = ours.iter().chain(&more);
    bench.losses(all.map(Report::missing).collect());
}

/// Starts our server with the film.
fn serve(folder: &TempDir) -> Server {
    let directory = folder.path().display().to_string();
    let fragment = format!("[[files]]\npath = \"vod\"\ndirectory = {directory:?}");
    Server::builder().release().toml(&fragment).start()
}

fn start(bench: &Bench, server: &Server, clients: u64) -> Listening {
    let url = server.http_url(&format!("/vod/{FILM}"));
    plan(bench, clients).start(&url, &[server.pid()])
}

fn late_reads(server: &Server) -> f64 {
    server.metrics().sum("carillon_late_reads_total", &[])
}

/// Returns the delay of frames for ten viewers of a live stream, in seconds, alongside this many clients of the film.
fn delay_beside(bench: &mut Bench, round: usize, clients: u64) -> f64 {
    let folder = folder();
    let server = serve(&folder);
    let media = ["--audio-rate", "96k", "--video-rate", "1000k"].map(str::to_owned);
    let _publisher = source::publish(&server.rtmp_url(STREAM, PUBLISH_KEY), &media);
    source::wait_for_publisher(&server);
    let viewers = ListenPlan::new(VIEWERS, VIEWERS, bench.window()).option(CHECKED);
    let begins = plan(bench, clients).before_window();
    let listening = (clients > 0).then(|| start(bench, &server, clients));
    std::thread::sleep(begins.saturating_sub(viewers.before_window()));
    let viewers = viewers.start(&server.http_url(&format!("/{STREAM}.flv")), &[server.pid()]);
    let report = viewers.finish();
    let who = format!("{OURS}, beside {clients} clients of a file");
    bench.note(round, &who, &[&report]);
    if let Some(listening) = listening {
        listening.finish();
    }
    report.number("/delay/p99") / 1e3
}

fn of_nginx(bench: &Bench, clients: u64) -> Report {
    let folder = folder();
    let bytes = std::fs::metadata(folder.path().join(FILM)).map_or(0, |file| file.len());
    let rate = bytes / FILM_SECONDS;
    let at_once = AT_ONCE_BYTES_MIN.max(10 * rate);
    let pace = format!("limit_rate {}; limit_rate_after {at_once};", 2 * rate);
    let server = FileServer::of(folder, &pace);
    let url = format!("http://{}/{FILM}", server.addr());
    plan(bench, clients)
        .start(&url, &server.pids()[..1])
        .finish()
}

fn plan(bench: &Bench, clients: u64) -> ListenPlan {
    ListenPlan::new(clients, RAMP, bench.window()).settle(SETTLE)
}

/// Creates a folder with the film on this program's disk.
fn folder() -> TempDir {
    let film = source::film();
    let beside = film.with_file_name("");
    let folder = tempfile::tempdir_in(&beside);
    let folder = folder.unwrap_or_else(|error| panic!("{}: {error}", beside.display()));
    let to = folder.path().join(FILM);
    std::fs::copy(&film, &to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    folder
}
