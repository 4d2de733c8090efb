//! Publishers come and vanish, with other codecs and sizes each time, while readers of three protocols come and go: the
//! server's memory stays where it was. `CARILLON_CHURN_SECONDS` sets for how long; an hour shows small leaks.
//!
//! The scenario measures resident memory (`VmRSS`), once a second after a third of the time, in which all kinds of publishers
//! have been there. A line through these values gives the growth. Resident memory includes the program's own pages, as they are
//! first used, and what the allocator keeps: the server uses glibc's, which keeps freed memory in up to eight arenas per core
//! and returns only the end of each, so that a peak stays. Such memory is used again: the values step up in the first minutes,
//! and less and less later. The bound is therefore on the growth over the whole time and not per minute: an hour's run allows a
//! sixtieth of what a minute's does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testkit::{Clip, PUBLISH_KEY, Publisher, Server, Signal, Tool};

use crate::support::{DEADLINE, seconds_of};

/// Environment variable that sets the time in seconds.
const SECONDS_VARIABLE: &str = "CARILLON_CHURN_SECONDS";
const SECONDS: u64 = 60;
/// Share of the time before the measurement.
const WARM_UP: f64 = 1.0 / 3.0;
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes that the line may rise over the measurement. A run of any length takes some megabytes; if each publisher left 20 KiB
/// behind, those of an hour would be more.
const GROWTH_MAX: f64 = (24 << 20) as f64;

/// Clips that publishers send, in turn: other sizes, other codecs, B-frames, audio that WebRTC has to have transcoded.
const CLIPS: [(Clip, Publisher); 5] = [
    (Clip::Flv, Publisher::Ffmpeg),
    (Clip::FlvLarger, Publisher::Ffmpeg),
    (Clip::FlvHevc, Publisher::CurrentFfmpeg),
    (Clip::FlvBframes, Publisher::Ffmpeg),
    (Clip::FlvAv1Opus, Publisher::CurrentFfmpeg),
];
const CLIP_SECONDS: u32 = 20;
/// Seconds for which a publisher sends.
const TURNS: [u64; 4] = [2, 3, 4, 5];
/// Number of streams that publishers return to, while their readers stay.
const RETURNING: usize = 2;
/// Number of concurrent readers of a kind.
const READERS: &str = "4";

/// Load that runs while memory is watched.
struct Churn {
    server: Server,
    is_over: AtomicBool,
    published: AtomicU64,
    read: AtomicU64,
}

impl Churn {
    fn continues(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Runs publishers, one after another: every second one is killed, the others end their connections.
    fn publish(&self, offset: usize, stream: impl Fn(usize) -> String) {
        for turn in 0.. {
            if !self.continues() {
                return;
            }
            let (clip, publisher) = CLIPS[(turn + offset) % CLIPS.len()];
            let url = self.server.rtmp_url(&stream(turn), PUBLISH_KEY);
            let mut process = publisher.start(&clip.seconds(CLIP_SECONDS), &url);
            // The length of the turn is what is tested, and nothing waits for it.
            std::thread::sleep(Duration::from_secs(TURNS[(turn + offset) % TURNS.len()]));
            if turn % 2 == 0 {
                process.kill();
            } else {
                process.signal(Signal::INT);
                process.wait(DEADLINE);
            }
            self.published.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs readers of a stream, group after group. A stream that is away refuses them, which is part of the load.
    fn read(&self, url: &str) {
        while self.continues() {
            let finished = Tool::carillon()
                .args(["load", "listen", url, "--json", "--check", "0"])
                .args(["--listeners", READERS, "--ramp", "20/s"])
                .args(["--settle", "0s", "--duration", "4s"])
                .finish(DEADLINE);
            let report = serde_json::from_slice::<serde_json::Value>(&finished.stdout);
            let report = report.unwrap_or_else(|error| panic!("{error}: {}", finished.stderr));
            let joined = report["joined"].as_u64().unwrap_or_default();
            self.read.fetch_add(joined, Ordering::Relaxed);
        }
    }

    /// Samples resident memory: times in seconds, and bytes.
    fn watch(&self, warm_up: Duration, until: Instant) -> Vec<(f64, f64)> {
        std::thread::sleep(warm_up);
        let began = Instant::now();
        let mut samples = Vec::new();
        while Instant::now() < until {
            let resident = self.server.resident_bytes() as f64;
            samples.push((began.elapsed().as_secs_f64(), resident));
            std::thread::sleep(SAMPLE_INTERVAL);
        }
        samples
    }
}

/// Returns the slope of the best-fitting line, in second values per first value, by least squares.
fn slope(samples: &[(f64, f64)]) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|sample| sample.0), mean(|sample| sample.1));
    let products = samples.iter().map(|(at, value)| (at - x) * (value - y));
    let squares = samples.iter().map(|(at, _)| (at - x) * (at - x));
    products.sum::<f64>() / squares.sum::<f64>()
}

#[test]
fn what_publishers_and_readers_leave_behind_is_nothing() {
    let time = Duration::from_secs(seconds_of(SECONDS_VARIABLE, SECONDS));
    // The clips are made before time is measured.
    for (clip, _) in CLIPS {
        assert!(clip.seconds(CLIP_SECONDS).is_file());
    }
    let churn = Churn {
        server: Server::builder().set("ingest", "linger", "\"2s\"").start(),
        is_over: AtomicBool::new(false),
        published: AtomicU64::new(0),
        read: AtomicU64::new(0),
    };
    let http = churn.server.addr("http");
    let until = Instant::now() + time;
    let samples = std::thread::scope(|scope| {
        let churn = &churn;
        for number in 0..RETURNING {
            scope.spawn(move || churn.publish(number * 2, |_| format!("live/stays{number}")));
            for url in [
                format!("hls+http://{http}/live/stays{number}/index.m3u8"),
                format!("http://{http}/live/stays{number}.flv"),
                format!("whep+http://{http}/live/stays{number}/whep"),
            ] {
                scope.spawn(move || churn.read(&url));
            }
        }
        // The names of these streams never return.
        scope.spawn(|| churn.publish(1, |turn| format!("live/once{turn}")));
        let samples = churn.watch(time.mul_f64(WARM_UP), until);
        churn.is_over.store(true, Ordering::Relaxed);
        samples
    });
    let (published, read) = (
        churn.published.load(Ordering::Relaxed),
        churn.read.load(Ordering::Relaxed),
    );
    let measured = samples.last().map_or(0.0, |sample| sample.0);
    let (slope, mebibyte) = (slope(&samples), f64::from(1 << 20));
    let mean = samples.iter().map(|sample| sample.1).sum::<f64>() / samples.len() as f64;
    println!(
        "{published} publishers, {read} readers; resident memory {:.1} MiB, {:+.3} MiB per minute over {measured:.0} s",
        mean / mebibyte,
        slope * 60.0 / mebibyte
    );
    let metrics = churn.server.metrics();
    assert_eq!(metrics.sum("carillon_panics_total", &[]), 0.0);
    assert!(published >= time.as_secs() / 6, "{published} publishers");
    assert!(read > 0, "no reader was there");
    let growth = slope * measured;
    assert!(growth < GROWTH_MAX, "{growth} bytes: {samples:?}");
}

#[test]
fn a_line_is_fitted() {
    assert_eq!(slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), 2.0);
    assert_eq!(slope(&[(0.0, 1.0), (1.0, 2.0), (2.0, 1.0)]), 0.0);
}
