//! The cost of driving sockets by epoll and by io_uring: one MP3 mount, the same listeners, messages of 16 frames and of one,
//! measured in turn on the real server.
//!
//! `cargo bench -p carillon-benches --bench backends [-- --listeners 2000 --seconds 10 --rounds 5]`

use std::time::Duration;

use testkit::{Sampling, Server, combining};

const BACKENDS: [&str; 2] = ["epoll", "io_uring"];
const SAMPLES: [u32; 2] = [16, 1];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok())
            .unwrap_or(default)
    };
    let listeners = number("--listeners", 2_000);
    let span = Duration::from_secs(number("--seconds", 10) as u64);
    let rounds = number("--rounds", 5);
    testkit::build_release();
    println!(
        "| max_samples | back-end | sends/s | CPU of one core | µs per send | ratio to epoll |"
    );
    println!("|---|---|---|---|---|---|");
    for samples in SAMPLES {
        let mut results = BACKENDS.map(|_| Vec::new());
        let mut ratios = BACKENDS.map(|_| Vec::new());
        for _ in 0..rounds {
            let mut first = 0.0;
            for (index, backend) in BACKENDS.iter().enumerate() {
                let server =
                    Server::builder()
                        .release()
                        .set("fanout", "backend", &format!("\"{backend}\""));
                let result = combining(server, samples, listeners, span);
                if index == 0 {
                    first = result.cores();
                }
                ratios[index].push(result.cores() / first);
                results[index].push(result);
            }
        }
        for ((backend, results), ratios) in BACKENDS.iter().zip(&mut results).zip(&mut ratios) {
            results.sort_by(|a, b| a.cores().total_cmp(&b.cores()));
            ratios.sort_by(f64::total_cmp);
            let (low, median, high) = spread(results);
            println!(
                "| {samples} | {backend} | {:.0} | {:.1} % ({:.1}–{:.1}) | {:.2} | {:.2} ({:.2}–{:.2}) |",
                median.sends_per_second(),
                100.0 * median.cores(),
                100.0 * low.cores(),
                100.0 * high.cores(),
                1e6 * median.cpu.as_secs_f64() / median.sends,
                ratios[ratios.len() / 2],
                ratios[0],
                ratios[ratios.len() - 1],
            );
        }
    }
}

/// Returns the minimum, the median and the maximum of sorted results.
fn spread(results: &[Sampling]) -> (Sampling, Sampling, Sampling) {
    let last = results.len() - 1;
    (results[0], results[results.len() / 2], results[last])
}
