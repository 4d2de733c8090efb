//! The savings from combining samples: one MP3 mount, the same listeners, and messages of 1, 4 and 16 frames, measured in turn
//! on the real server.
//!
//! `cargo bench -p carillon-benches --bench combine [-- --listeners 2000 --seconds 10 --rounds 3]`

use std::time::Duration;

use testkit::{Sampling, Server, combining};

const SAMPLES: [u32; 3] = [1, 4, 16];

struct Options {
    listeners: usize,
    span: Duration,
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
        span: Duration::from_secs(number("--seconds", 10) as u64),
        rounds: number("--rounds", 3),
    };
    testkit::build_release();
    println!("| max_samples | samples per message | sends/s | CPU of one core |");
    println!("|---|---|---|---|");
    let mut rounds: Vec<Vec<Sampling>> = SAMPLES.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.rounds {
        for (samples, results) in SAMPLES.iter().zip(&mut rounds) {
            let server = Server::builder().release();
            results.push(combining(server, *samples, options.listeners, options.span));
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
