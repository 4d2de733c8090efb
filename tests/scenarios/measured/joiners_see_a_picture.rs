//! A viewer that joins a stream whose one keyframe is forty seconds old has a frame within a second, over every protocol; and
//! the stream stays within the memory for streams.
//!
//! The encoder makes a keyframe only on request, as browsers do. The delay that a busy machine adds is measured by a joiner of
//! the same protocol at the same moment, whose stream has a keyframe every second.

use std::thread;

use serde_json::Value;
use testkit::{PUBLISH_KEY, Process, Server, Tool};

use crate::support::{DEADLINE, entry, wait_for_stream};

const MIB: f64 = 1024.0 * 1024.0;
const LOG_MIB: f64 = 16.0;
/// Factor by which memory may exceed the limit, since it is counted in whole pages.
const MORE_MAX: f64 = 1.1;
/// Age of the stream's newest keyframe, in seconds.
const AGE_SECONDS: f64 = 40.0;
const PICTURE_WITHIN_MS: f64 = 1_000.0;

/// Names of the streams of one server: the one under test, and its control.
const RARE: &str = "live/rare";
const USUAL: &str = "live/usual";

#[test]
fn forty_seconds_after_the_keyframe() {
    thread::scope(|scope| {
        for protocol in ["http", "rtmp", "whep"] {
            scope.spawn(move || join_late(protocol));
        }
    });
}

fn join_late(protocol: &str) {
    let server = Server::builder().set("fanout", "log_mib", "16").start();
    let _rare = film(&server, RARE, "5M", "1h");
    let _usual = film(&server, USUAL, "500k", "1s");
    wait_for_stream(&server, RARE);
    wait_for_stream(&server, USUAL);
    let mut most = 0.0_f64;
    testkit::wait_until("the keyframe to be old", 2 * DEADLINE, || {
        most = most.max(server.metrics().get("carillon_log_bytes").unwrap());
        age_of_keyframe(&server, RARE).is_some_and(|age| age >= AGE_SECONDS)
    });
    let url = |stream: &str| match protocol {
        "http" => server.http_url(&format!("/{stream}.flv")),
        "rtmp" => format!("rtmp://{}/{stream}", server.addr("rtmp")),
        _ => format!("whep+http://{}/{stream}/whep", server.addr("http")),
    };
    let joiners = [RARE, USUAL].map(|stream| join(&url(stream)));
    let [rare, usual] = joiners.map(|mut joiner| {
        joiner.wait(DEADLINE);
        let report: Value = serde_json::from_slice(&joiner.stdout())
            .unwrap_or_else(|error| panic!("{error}: {}", joiner.stderr()));
        most = most.max(server.metrics().get("carillon_log_bytes").unwrap());
        let waited = |what: &str| report[what]["max"].as_f64();
        let waited = waited("join").zip(waited("first_picture"));
        let (join, picture) = waited.unwrap_or_else(|| panic!("no picture: {report:#}"));
        join + picture
    });
    println!(
        "{protocol}: a picture within {rare:.0} ms, beside it {usual:.0} ms; {:.1} MiB of logs",
        most / MIB
    );
    assert!(
        rare <= PICTURE_WITHIN_MS + usual,
        "{protocol}: {rare} ms, beside it {usual} ms"
    );
    assert!(most <= LOG_MIB * MORE_MAX * MIB, "{most} bytes of logs");
}

/// Publishes video over WHIP with a keyframe every `interval`, except for requested ones.
fn film(server: &Server, stream: &str, rate: &str, interval: &str) -> Process {
    let address = server.addr("http");
    let url = format!("whip+http://{PUBLISH_KEY}@{address}/{stream}/whip");
    Tool::carillon()
        .args(["load", "publish", &url, "--duration", "5m"])
        .args(["--video-rate", rate, "--keyframe-interval", interval])
        .start()
}

/// Returns the age of the newest keyframe in seconds. While none arrives, the reported interval is the time since the last.
fn age_of_keyframe(server: &Server, stream: &str) -> Option<f64> {
    entry(server, stream)["keyframes"]["interval_seconds"].as_f64()
}

/// Starts one listener for three seconds, whose frames are checked.
fn join(url: &str) -> Process {
    Tool::carillon()
        .args(["load", "listen", url, "--json", "--listeners", "1"])
        .args(["--check", "1", "--duration", "3s", "--settle", "1s"])
        .start()
}
