//! Publishers that are recorded.
//!
//! Both servers write to a directory next to this program, on whatever disk that is. Otherwise each has its defaults:
//! nginx-rtmp writes FLV, as it receives it. Ten viewers watch one of the streams; our server has a turn with recording and one
//! without.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use testkit::{Nginx, PUBLISH_KEY, Process, Server, Tool, wait_until};

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::calls;
use crate::contest::{OURS, Peer};
use crate::figure::{Against, Target, Unit};
use crate::machine;

const PUBLISHERS: u64 = 1_000;
/// Number of publishers in a run that only checks that the scenario works.
const PUBLISHERS_SHORT: u64 = 50;
/// Connections begun per second.
const RAMP: u64 = 250;
/// Time between the last connection and the window; system calls are counted meanwhile.
const SETTLE: Duration = Duration::from_secs(8);
/// Time for the last publisher to be accepted before anything else begins.
const BEGIN: Duration = Duration::from_secs(2);
const VIEWERS: u64 = 10;
const CHECKED: &str = "--check=10";
const END_PATIENCE: Duration = Duration::from_secs(60);
/// Time limit for all recordings to be closed and finalised.
const FINALISE_DEADLINE: Duration = Duration::from_secs(300);

/// Name of turns without recording.
const PLAIN: &str = "not recorded";

/// System calls that write files, whatever else they do.
const CALLS: [&str; 3] = ["pwrite64", "pwritev", "pwritev2"];

const MEGABYTE: f64 = 1e6;
const MEMORY_MAX: f64 = 0.8 * (1 << 30) as f64;

const MOST_FIRST: u64 = 1_000;
const MOST_LAST: u64 = 6_000;
const MOST_STEP: u64 = 500;
const MOST_WINDOW: Duration = Duration::from_secs(15);
/// Options of the load: from some 1,500 publishers on, a single process has no processor time left.
const MOST_PROCESSES: [&str; 2] = ["--processes", "2"];

/// Bytes of memory that stay free while the page cache is filled.
const MEMORY_FREE: u64 = 512 << 20;

/// Contenders that have a turn in each round.
#[derive(Clone, Copy)]
enum Contender {
    Ours,
    Plain,
    Peer,
}

/// One server's turn.
struct Turn {
    report: Report,
    /// Number of file writes per megabyte of media.
    writes: Option<f64>,
    /// Age of frames on arrival at viewers, in seconds.
    delay: Option<f64>,
}

pub(crate) fn thousand(bench: &mut Bench) {
    let publishers = match bench.is_short() {
        true => PUBLISHERS_SHORT,
        false => PUBLISHERS,
    };
    let peer = Peer::Nginx.name();
    let hole = Hole::new();
    let [mut ours, mut plain, mut theirs] = [const { Vec::new() }; 3];
    let (mut lost, mut gaps) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds() {
        // The order alternates: the first may find the machine in another state than the others.
        let mut order = [Contender::Ours, Contender::Plain, Contender::Peer];
        if round % 2 == 1 {
            order.reverse();
        }
        for contender in order {
            hole.fill_cache();
            match contender {
                Contender::Ours => {
                    let (turn, found) = ours_recorded(bench, round, publishers);
                    lost.push(turn.report.number("/frames_sent") - found.frames as f64);
                    gaps.push(found.gaps);
                    ours.push(turn);
                }
                Contender::Plain => {
                    let server = serve(None);
                    let turn = ours_with_viewers(bench, &server, publishers);
                    note(bench, round, PLAIN, &turn);
                    plain.push(turn);
                }
                Contender::Peer => theirs.push(theirs_recorded(bench, round, publishers)),
            }
        }
    }
    let of = |turns: &[Turn], of: fn(&Turn) -> Option<f64>| -> Vec<f64> {
        turns.iter().filter_map(of).collect()
    };
    let cpu = |turn: &Turn| Some(turn.report.cpu());
    let missing = |turn: &Turn| Some(turn.report.missing());
    let memory = |turn: &Turn| Some(turn.report.resident());
    let peer = |values| Some(Against::Peer(peer, values));
    let itself = |values| Some(Against::Itself(PLAIN, values));
    let (most, never) = (Target::AtMost, Some(Target::NeverAbove(0.0)));
    let writes = |turn: &Turn| turn.writes;
    let delay = |turn: &Turn| turn.delay;
    let of_both = (of(&ours, cpu), peer(of(&theirs, cpu)));
    let with_and_without = (of(&ours, cpu), itself(of(&plain, cpu)));
    let calls = (of(&ours, writes), peer(of(&theirs, writes)));
    let delays = (of(&ours, delay), itself(of(&plain, delay)));
    let memory = (of(&ours, memory), None);
    for (what, unit, (values, against), target) in [
        ("CPU", Unit::Core, of_both, Some(most(0.33))),
        ("CPU", Unit::Core, with_and_without, None),
        (
            "writes of files in a megabyte",
            Unit::Count,
            calls,
            Some(most(0.05)),
        ),
        (
            "delay p99 of ten viewers",
            Unit::Seconds,
            delays,
            Some(most(1.05)),
        ),
        (
            "resident memory",
            Unit::Bytes,
            memory,
            Some(most(MEMORY_MAX)),
        ),
        (
            "publishers lost",
            Unit::Count,
            (of(&ours, missing), None),
            never,
        ),
        ("gaps", Unit::Count, (gaps, None), never),
        (
            "frames that are in no recording",
            Unit::Count,
            (lost, None),
            never,
        ),
    ] {
        bench.figure(what, unit, values, against, target);
    }
}

/// Runs our server, with viewers and recordings.
fn ours_recorded(bench: &mut Bench, round: usize, publishers: u64) -> (Turn, Recorded) {
    let folder = folder();
    let server = serve(Some(folder.path()));
    bench.learn_backend(&server);
    let turn = ours_with_viewers(bench, &server, publishers);
    note(bench, round, OURS, &turn);
    let found = recorded(&server, publishers);
    let reported = json!({ "gaps": found.gaps, "frames": found.frames, "frames_sent": turn.report.number("/frames_sent") });
    bench.note_value(round, OURS, reported);
    (turn, found)
}

fn theirs_recorded(bench: &mut Bench, round: usize, publishers: u64) -> Turn {
    let folder = folder();
    let directives = format!(
        "record all; record_unique on; record_path {};",
        folder.path().display()
    );
    let server = Nginx::with(&directives);
    let publishing = publish(
        bench,
        &server.rtmp_url("show{n}"),
        &server.pids(),
        publishers,
    );
    let plan = ListenPlan::new(VIEWERS, VIEWERS, bench.window());
    let viewers = plan.start(&server.rtmp_url("show0"), &server.pids());
    let turn = publishing.finish(Some(viewers));
    note(bench, round, Peer::Nginx.name(), &turn);
    turn
}

/// A file without content, nearly as large as the available memory, that fills the page cache when it is read.
///
/// Every turn therefore finds the machine as a recorder does that has run for a day: without free memory, which is taken from
/// the cache as needed. Free memory of a virtual machine may be the host's; then the first write to each page costs the writer
/// more than a recorder costs in total, and more in one turn than in another.
struct Hole {
    file: File,
    bytes: u64,
}

impl Hole {
    fn new() -> Self {
        let bytes = machine::available_memory().saturating_sub(MEMORY_FREE);
        let file = tempfile::tempfile_in(folder().path()).and_then(|file| {
            file.set_len(bytes)?;
            Ok(file)
        });
        let file = file.unwrap_or_else(|error| panic!("a file without content: {error}"));
        Self { file, bytes }
    }

    fn fill_cache(&self) {
        let mut buffer = vec![0; 1 << 20];
        let mut at = 0;
        while at < self.bytes {
            let read = self.file.read_at(&mut buffer, at);
            let read = read.unwrap_or_else(|error| panic!("a file without content: {error}"));
            at += (read as u64).max(1);
        }
    }
}

pub(crate) fn most(bench: &mut Bench) {
    let mut table = String::from(
        "| publishers | MB/s | CPU | memory | written last, at most | gaps | lost | the machine idle | the load |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let mut carried = 0;
    for publishers in (MOST_FIRST..=MOST_LAST).step_by(MOST_STEP as usize) {
        let folder = folder();
        let server = serve(Some(folder.path()));
        let pids = [server.pid()];
        let url = server.rtmp_url("live/show{n}", PUBLISH_KEY);
        let publishing = publish_for(&url, &pids, publishers, MOST_WINDOW, &MOST_PROCESSES);
        let report = publishing.finish(None).report;
        let metrics = server.metrics();
        let gaps = metrics.sum("carillon_record_gaps_total", &[]);
        let lag = metrics.sum("carillon_record_lag_seconds", &[]);
        bench.note(0, OURS, &[&report]);
        writeln!(
            table,
            "| {publishers} | {:.0} | {:.1} % | {:.0} MiB | {lag:.1} s | {gaps:.0} | {:.0} | {:.0} % | {} |",
            rate(&report),
            report.cpu() * 100.0,
            report.resident() / f64::from(1 << 20),
            report.missing(),
            report.number("/machine/idle") * 100.0,
            report.bottlenecks().join("; "),
        )
        .ok();
        if report.missing() > 0.0 || gaps > 0.0 {
            break;
        }
        carried = publishers;
    }
    let target = Some(Target::AtLeast(PUBLISHERS as f64));
    bench.figure(
        "publishers",
        Unit::Count,
        vec![carried as f64],
        None,
        target,
    );
    bench.add_table(
        "recorded publishers until one is lost, or a recording has a gap",
        table,
    );
}

/// Creates a directory on this program's disk.
fn folder() -> TempDir {
    let here = std::env::current_exe().unwrap_or_else(|error| panic!("this program: {error}"));
    let beside = here.parent().unwrap_or_else(|| Path::new("."));
    tempfile::tempdir_in(beside).unwrap_or_else(|error| panic!("{}: {error}", beside.display()))
}

/// Starts our server, which records everything to `directory`.
fn serve(directory: Option<&Path>) -> Server {
    let server = Server::builder().release();
    match directory {
        Some(directory) => server
            .set(
                "recording",
                "directory",
                &format!("{:?}", directory.display().to_string()),
            )
            .toml("[[record]]\nmatch = \"live/*\""),
        None => server,
    }
    .start()
}

/// Publishers in progress.
struct Publishing {
    load: Process,
    pids: Vec<u32>,
    publishers: u64,
    window: Duration,
}

fn publish(bench: &Bench, url: &str, pids: &[u32], publishers: u64) -> Publishing {
    publish_for(url, pids, publishers, bench.window(), &[])
}

/// Lets all publishers publish to `url`; `pids` are the server's processes, the first of them the parent of the others. `more`
/// are options of the load.
fn publish_for(
    url: &str,
    pids: &[u32],
    publishers: u64,
    window: Duration,
    more: &[&str],
) -> Publishing {
    let load = Tool::carillon()
        .args(["load", "publish", url, "--json"])
        .args(["--video-rate", "900k", "--audio-rate", "96k"])
        .args(["--publishers", &publishers.to_string()])
        .args(["--ramp", &format!("{RAMP}/s")])
        .args(["--settle", &format!("{}s", SETTLE.as_secs())])
        .args(["--duration", &format!("{}s", window.as_secs())])
        .args(["--pid", &pids[0].to_string()])
        .args(more)
        .start();
    std::thread::sleep(Duration::from_secs(publishers.div_ceil(RAMP)) + BEGIN);
    Publishing {
        load,
        pids: pids.to_vec(),
        publishers,
        window,
    }
}

impl Publishing {
    /// Waits for the end; `viewers` watch meanwhile.
    fn finish(mut self, viewers: Option<crate::audience::Listening>) -> Turn {
        let calls = calls::per_second(&self.pids, &CALLS);
        let ramp = Duration::from_secs(self.publishers.div_ceil(RAMP));
        self.load.wait(ramp + SETTLE + self.window + END_PATIENCE);
        let report = Report::of(&self.load);
        let delay = viewers.map(|viewers| viewers.finish().number("/delay/p99") / 1e3);
        Turn {
            writes: calls.map(|calls| calls / rate(&report)),
            report,
            delay,
        }
    }
}

fn ours_with_viewers(bench: &Bench, server: &Server, publishers: u64) -> Turn {
    let url = server.rtmp_url("live/show{n}", PUBLISH_KEY);
    let publishing = publish(bench, &url, &[server.pid()], publishers);
    let plan = ListenPlan::new(VIEWERS, VIEWERS, bench.window()).option(CHECKED);
    let viewers = plan.start(&server.http_url("/live/show0.flv"), &[server.pid()]);
    publishing.finish(Some(viewers))
}

/// Returns the megabytes of media per second.
fn rate(report: &Report) -> f64 {
    report.number("/window/bytes") / report.number("/window/seconds") / MEGABYTE
}

fn note(bench: &mut Bench, round: usize, who: &str, turn: &Turn) {
    bench.note(round, who, &[&turn.report]);
    let found = json!({ "megabytes_per_second": rate(&turn.report), "writes_per_megabyte": turn.writes,
        "delay_p99": turn.delay });
    bench.note_value(round, who, found);
}

/// Contents of the recordings.
struct Recorded {
    frames: u64,
    gaps: f64,
}

/// Waits for all recordings to be finalised, and counts their contents.
fn recorded(server: &Server, publishers: u64) -> Recorded {
    let mut paths = Vec::new();
    wait_until("all recordings to be finalised", FINALISE_DEADLINE, || {
        paths = finalised(server);
        paths.len() as u64 >= publishers
    });
    let frames = paths.iter().map(|path| frames(Path::new(path)));
    let frames: io::Result<u64> = frames.sum();
    Recorded {
        frames: frames.unwrap_or_else(|error| panic!("a recording: {error}")),
        gaps: server.metrics().sum("carillon_record_gaps_total", &[]),
    }
}

fn finalised(server: &Server) -> Vec<String> {
    let mut paths = Vec::new();
    let mut query = String::new();
    loop {
        let page = server.api(&format!("recordings{query}"));
        let recordings = page["recordings"].as_array().into_iter().flatten();
        let done = recordings.filter(|one| one["state"] == "finalised");
        paths.extend(done.filter_map(|one| one["path"].as_str().map(str::to_owned)));
        match page["cursor"].as_str() {
            Some(next) => query = format!("?cursor={next}"),
            None => return paths,
        }
    }
}

/// Returns the number of samples of a finalised recording: in all tables of sizes in the `moov` behind its media (ISO/IEC
/// 14496-12 §8.7.3).
fn frames(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut at = 0;
    let mut moov = Vec::new();
    while moov.is_empty() {
        let mut head = [0; 16];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut head)?;
        let short = u64::from(u32::from_be_bytes([head[0], head[1], head[2], head[3]]));
        let long = head[8..]
            .first_chunk()
            .map(|bytes| u64::from_be_bytes(*bytes));
        if head[4..8] == *b"moov" {
            file.seek(SeekFrom::Start(at))?;
            file.by_ref().take(short).read_to_end(&mut moov)?;
        }
        at += match (short, long) {
            (1, Some(long)) => long,
            (0, _) | (1, None) => return Err(io::ErrorKind::InvalidData.into()),
            (short, _) => short,
        };
    }
    let tables = moov
        .windows(16)
        .filter(|window| window.starts_with(b"stsz"));
    let counts =
        tables.filter_map(|table| Some(u32::from_be_bytes(*table.get(12..)?.first_chunk()?)));
    Ok(counts.map(u64::from).sum())
}
