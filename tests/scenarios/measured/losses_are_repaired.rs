//! Viewers over WebRTC behind networks that lose packets decode nearly everything, and do not flood the
//! server with requests.

use std::thread;
use std::time::Duration;

use serde_json::Value;
use testkit::{Impaired, Impairment, PUBLISH_KEY, Process, Server, Tool, pion_viewer};

use crate::support::{DEADLINE, wait_for_stream};

const VIEWERS: u32 = 10;
const SPAN: Duration = Duration::from_secs(20);
/// Delay in each direction.
const DELAY: Duration = Duration::from_millis(50);
/// Frames that the load's publisher sends per second. Its audio is transcoded, which loses the stamps.
const PICTURES_PER_SECOND: f64 = 25.0;

/// Share of packets lost, and share of frames that a decoder can still use.
const NETWORKS: [(f64, f64); 3] = [(0.01, 0.99), (0.05, 0.97), (0.10, 0.92)];

/// Most requests per lost packet: repetitions get lost, too.
const REQUESTS_PER_LOSS_MAX: f64 = 2.0;
/// Most keyframe requests of one viewer per second.
const KEYFRAME_REQUESTS_MAX: f64 = 0.5;

/// Number of viewers on pion of either kind: which packets are lost decides how long one of them is frozen.
const PIONS: u64 = 5;

/// Factor by which pion's video may be frozen longer on average with repetitions that pion does not recognise as such, and
/// seconds on top of that.
const FROZEN_TIMES_MAX: f64 = 1.5;
const FROZEN_MORE_MAX: f64 = 0.5;

fn show() -> (Server, Process) {
    let server = Server::start();
    let publisher = Tool::carillon()
        .args(["load", "publish"])
        .arg(server.rtmp_url("live/show", PUBLISH_KEY))
        .args(["--video-rate", "1M", "--duration", "10m"])
        .start();
    wait_for_stream(&server, "live/show");
    (server, publisher)
}

/// Starts a proxy that also loses connectivity checks and reports.
fn lossy(server: &Server, loss: f64, delay: Duration, seed: u64) -> Impaired {
    let way = Impairment {
        loss,
        delay,
        seed,
        ..Impairment::NONE
    };
    Impaired::udp(server.addr("webrtc"), way, way)
}

#[test]
fn at_one_five_and_ten_percent() {
    let (server, _publisher) = show();
    for (loss, usable_min) in NETWORKS {
        look(&server, loss, usable_min);
    }
}

/// Repetitions with a payload type of their own make pion request lost packets again and again, also those that arrived.
#[test]
fn pion_is_frozen_no_longer_with_repetitions_of_their_own_kind() {
    let (server, _publisher) = show();
    for (loss, _) in NETWORKS {
        let [without, with] = thread::scope(|scope| {
            let server = &server;
            ["-rtx=false", "-rtx=true"]
                .map(|rtx| {
                    let viewer = |seed| scope.spawn(move || frozen(server, loss, seed, rtx));
                    (0..PIONS).map(viewer).collect::<Vec<_>>()
                })
                .map(|viewers| {
                    let frozen = viewers.into_iter().map(|viewer| viewer.join().unwrap());
                    frozen.sum::<f64>() / PIONS as f64
                })
        });
        println!(
            "{:.0} % lost: frozen for {without:.2} s, with RTX for {with:.2} s",
            loss * 100.0
        );
        assert!(
            with <= FROZEN_TIMES_MAX * without + FROZEN_MORE_MAX,
            "{with} s, and {without} s without RTX, at {loss}"
        );
    }
}

/// Measures the seconds for which the video of a viewer with a bad network of its own was frozen.
fn frozen(server: &Server, loss: f64, seed: u64, rtx: &str) -> f64 {
    let proxy = lossy(server, loss, DELAY / 5, seed);
    let watched = Tool::built(&pion_viewer())
        .args(["watch", rtx, "-via", &proxy.addr().to_string()])
        .arg(SPAN.as_secs().to_string())
        .arg(server.http_url("/live/show/whep"))
        .finish(DEADLINE);
    let lines = String::from_utf8(watched.stdout).unwrap();
    let last = lines.lines().last();
    let last = last.unwrap_or_else(|| panic!("{}", watched.stderr));
    let last: Value = serde_json::from_str(last).unwrap();
    last["frozen"].as_f64().unwrap()
}

fn look(server: &Server, loss: f64, usable_min: f64) {
    let proxy = lossy(server, loss, DELAY, 11);
    let report = listen(server, &proxy);
    let number = |path: &str| {
        let value = report.pointer(path).and_then(Value::as_f64);
        value.unwrap_or_else(|| panic!("no {path} in {report:#}"))
    };
    assert_eq!(number("/alive"), f64::from(VIEWERS), "{report:#}");
    let usable = number("/integrity/frames");
    // A viewer that joins shortly before a keyframe leaves the past for it, whatever its network loses.
    let missing = number("/integrity/missing") - number("/integrity/missing_after_past");
    let share = usable / (usable + missing);
    let lost = proxy.down().lost as f64;
    let requests = number("/packets/nacked") / lost;
    let keyframes =
        number("/packets/keyframes_asked") / (f64::from(VIEWERS) * number("/window/seconds"));
    println!(
        "{:.0} % lost: {:.2} % of {} pictures usable, {} left with the past; {requests:.2} requests per packet lost, \
         {keyframes:.3} keyframes asked for per viewer and second",
        loss * 100.0,
        share * 100.0,
        usable + missing,
        number("/integrity/missing_after_past"),
    );
    assert!(
        lost > 0.5 * loss * number("/packets/received"),
        "{report:#}"
    );
    let expected = f64::from(VIEWERS) * SPAN.as_secs_f64() * PICTURES_PER_SECOND;
    assert!(usable > 0.9 * usable_min * expected, "{report:#}");
    assert!(share >= usable_min, "{share}: {report:#}");
    assert_eq!(number("/integrity/damaged"), 0.0, "{report:#}");
    assert!(requests <= REQUESTS_PER_LOSS_MAX, "{requests}: {report:#}");
    assert!(
        keyframes <= KEYFRAME_REQUESTS_MAX,
        "{keyframes}: {report:#}"
    );
    let metrics = server.metrics();
    let refused = metrics.sum("carillon_webrtc_not_repeated_packets_total", &[]);
    println!("requests refused so far: {refused}");
}

fn listen(server: &Server, proxy: &Impaired) -> Value {
    let url = format!("whep+http://{}/live/show/whep", server.addr("http"));
    let viewers = VIEWERS.to_string();
    let finished = Tool::carillon()
        .args(["load", "listen", &url, "--json", "--settle", "2s"])
        .args(["--listeners", &viewers, "--check", &viewers])
        .args(["--duration", &format!("{}s", SPAN.as_secs())])
        .args(["--via", &proxy.addr().to_string()])
        .finish(DEADLINE);
    serde_json::from_slice(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stderr))
}
