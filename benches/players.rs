//! What a thousand RTMP players of a 1.1 Mb/s stream cost: this server and nginx-rtmp, in turn, in
//! one run, with the same clip and the same crowd.
//!
//! `cargo xtask bench players` or `cargo bench -p carillon-benches --bench players
//! [-- --players 1000 --seconds 20 --rounds 3]`
//!
//! Both run with the defaults that their makers gave them; nginx has one worker process, which is
//! its default too, and its processor time is that of master and worker. Time is user and system
//! time of the server from `/proc/PID/stat`; over the loopback that includes what the kernel
//! does to deliver the bytes, alike for both. The crowd is a thread of this process, which is not
//! counted; it throws the bytes away inside the kernel.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{Audience, Clip, Nginx, PUBLISH_KEY, Process, Server, Tool, wait_until};

/// For starting, for everybody to join, on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// What joiners were sent at once has drained when the look begins.
const SETTLE: Duration = Duration::from_secs(4);
/// As long as a run.
const CLIP_SECONDS: u32 = 60;

struct Options {
    players: usize,
    span: Duration,
    rounds: usize,
}

/// What was measured of one server in one round.
#[derive(Clone, Copy)]
struct Cost {
    /// Share of one core.
    cores: f64,
    /// Bits per second that a player received.
    rate: f64,
    /// Resident memory in bytes.
    memory: u64,
    /// The longest time that any player waited for bytes.
    gap: Duration,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok())
            .unwrap_or(default)
    };
    let options = Options {
        players: number("--players", 1_000),
        span: Duration::from_secs(number("--seconds", 20) as u64),
        rounds: number("--rounds", 3),
    };
    build();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        ours.push(carillon(&options));
        theirs.push(nginx(&options));
        for (name, costs) in [("Carillon", &ours), ("nginx-rtmp", &theirs)] {
            let cost = costs[round - 1];
            eprintln!(
                "round {round}: {name} {:.1} %, {:.0} kb/s per player, longest gap {:?}",
                100.0 * cost.cores,
                cost.rate / 1e3,
                cost.gap
            );
        }
    }
    println!(
        "{} players, {} rounds of {:?}",
        options.players, options.rounds, options.span
    );
    println!("| server | CPU of one core per 1,000 players | memory | longest gap |");
    println!("|---|---|---|---|");
    let per_thousand = 1_000.0 / options.players as f64;
    let mut medians = Vec::new();
    for (name, costs) in [("Carillon", &mut ours), ("nginx-rtmp", &mut theirs)] {
        costs.sort_by(|a, b| a.cores.total_cmp(&b.cores));
        let percent = |cost: &Cost| 100.0 * per_thousand * cost.cores;
        let median = &costs[costs.len() / 2];
        medians.push(percent(median));
        println!(
            "| {name} | {:.1} % ({:.1}–{:.1}) | {:.0} MiB | {:.0} ms |",
            percent(median),
            percent(&costs[0]),
            percent(&costs[costs.len() - 1]),
            median.memory as f64 / f64::from(1 << 20),
            median.gap.as_secs_f64() * 1e3,
        );
    }
    println!(
        "\nnginx-rtmp takes {:.1} times as much",
        medians[1] / medians[0]
    );
}

fn carillon(options: &Options) -> Cost {
    let server = Server::builder().release().start();
    let url = server.rtmp_url("live/show", PUBLISH_KEY);
    let _publisher = publish(&url);
    wait_until("the stream", DEADLINE, || {
        server.metrics().sum("carillon_publishers", &[]) == 1.0
    });
    let addr = server.addr("rtmp");
    measure(
        options,
        addr,
        || server.cpu_time(),
        || server.resident_bytes(),
    )
}

fn nginx(options: &Options) -> Cost {
    let server = Nginx::with("");
    let _publisher = publish(&server.rtmp_url("show"));
    server.wait_for_stream("show");
    measure(
        options,
        server.addr(),
        || server.cpu_time(),
        || server.resident_bytes(),
    )
}

/// The clip over and over, at its natural pace.
fn publish(url: &str) -> Process {
    Tool::ffmpeg()
        .args(["-re", "-stream_loop", "-1", "-i"])
        .arg(Clip::FlvMegabit.seconds(CLIP_SECONDS))
        .args(["-c", "copy", "-f", "flv", url])
        .start()
}

fn measure(
    options: &Options,
    addr: SocketAddr,
    cpu_time: impl Fn() -> Duration,
    memory: impl Fn() -> u64,
) -> Cost {
    let audience = Audience::play(addr, "live/show", options.players);
    wait_until("media for everybody", DEADLINE, || {
        audience.bytes() > options.players as u64 * 10_000
    });
    std::thread::sleep(SETTLE);
    audience.watch();
    let before = (Instant::now(), cpu_time(), audience.bytes());
    std::thread::sleep(options.span);
    let after = (Instant::now(), cpu_time(), audience.bytes());
    let memory = memory();
    assert_eq!(audience.alive(), options.players, "somebody was lost");
    let gaps = audience.longest_gaps();
    let seconds = (after.0 - before.0).as_secs_f64();
    let rate = (after.2 - before.2) as f64 * 8.0 / seconds / options.players as f64;
    assert!(rate > 1e6, "players were starved: {rate:.0} b/s each");
    Cost {
        cores: (after.1 - before.1).as_secs_f64() / seconds,
        rate,
        memory,
        gap: gaps.into_iter().max().unwrap_or_default(),
    }
}

/// The release build of the server is what is measured.
fn build() {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "-p", "carillon-server"])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the server does not build"
    );
}
