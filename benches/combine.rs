//! What combining samples saves: one MP3 mount, the same listeners, and messages of 1, 4 and 16
//! frames, measured in turn on the real server.
//!
//! `cargo bench -p carillon-benches --bench combine [-- --listeners 2000 --seconds 10 --rounds 3]`

use std::process::Command;
use std::time::Duration;

use testkit::{Audience, Clip, PUBLISH_KEY, Sampling, Server, Tool, sample, wait_until};

const SAMPLES: [u32; 3] = [1, 4, 16];
const DEADLINE: Duration = Duration::from_secs(60);

struct Options {
    listeners: usize,
    seconds: u64,
    rounds: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok())
            .unwrap_or(default)
    };
    let options = Options {
        listeners: number("--listeners", 2_000),
        seconds: number("--seconds", 10) as u64,
        rounds: number("--rounds", 3),
    };
    build();
    println!("| max_samples | samples per message | sends/s | CPU of one core |");
    println!("|---|---|---|---|");
    let mut rounds: Vec<Vec<Sampling>> = SAMPLES.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.rounds {
        for (samples, results) in SAMPLES.iter().zip(&mut rounds) {
            results.push(measure(*samples, &options));
        }
    }
    for (samples, results) in SAMPLES.iter().zip(&mut rounds) {
        results.sort_by(|a, b| a.cores().total_cmp(&b.cores()));
        let median = results[results.len() / 2];
        let (low, high) = (results[0].cores(), results[results.len() - 1].cores());
        println!(
            "| {samples} | {:.1} | {:.0} | {:.1} % ({:.1}–{:.1}) |",
            median.samples_per_message(),
            median.sends_per_second(),
            100.0 * median.cores(),
            100.0 * low,
            100.0 * high,
        );
    }
}

/// One server, one audience, one setting.
fn measure(max_samples: u32, options: &Options) -> Sampling {
    // Equal waits make the window fixed; otherwise a small audience gets smaller messages.
    let server = Server::builder()
        .release()
        .set("fanout.audio", "max_samples", &max_samples.to_string())
        .set("fanout.audio", "min_wait", "\"450ms\"")
        .set("fanout.audio", "max_wait", "\"450ms\"")
        .start();
    let _source = Tool::ffmpeg()
        .args(["-re", "-stream_loop", "-1", "-i"])
        .arg(Clip::Mp3.seconds(30))
        .args(["-c", "copy", "-content_type", "audio/mpeg", "-f", "mp3"])
        .arg(server.icecast_url("radio.mp3", PUBLISH_KEY))
        .start();
    wait_until("the stream", DEADLINE, || {
        server.get("/status-json.xsl").text().contains("radio.mp3")
    });
    let audience = Audience::join(server.addr("http"), "/radio.mp3", options.listeners);
    wait_until("everybody to have joined", DEADLINE, || {
        server.metrics().sum("carillon_listeners", &[]) == options.listeners as f64
    });
    // The burst of the last joiners drains first.
    sample(&server, &audience, Duration::from_secs(2));
    let result = sample(&server, &audience, Duration::from_secs(options.seconds));
    assert_eq!(audience.alive(), options.listeners, "nobody was lost");
    result
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
