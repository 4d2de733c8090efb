//! `carillon load` reports correct figures, with listeners of both protocols, and of other servers, too.

use serde_json::Value;
use testkit::{Certificate, Clip, Nginx, PUBLISH_KEY, Process, Server, Tool};

use crate::support::{DEADLINE, wait_for_stream};

const LISTENERS: u64 = 40;
/// Default number of checked listeners.
const CHECKED: u64 = 10;

/// Publishes to `url` until the process is dropped.
fn publish(url: &str, more: &[&str]) -> Process {
    Tool::carillon()
        .args(["load", "publish", url, "--duration", "5m"])
        .args(more)
        .start()
}

/// Listens to `url` for two seconds and returns the report.
fn listen(url: &str, more: &[&str]) -> Value {
    listen_for("2s", url, more)
}

fn listen_for(duration: &str, url: &str, more: &[&str]) -> Value {
    let finished = Tool::carillon()
        .args(["load", "listen", url, "--json"])
        .args(["--listeners", &LISTENERS.to_string(), "--ramp", "200/s"])
        .args(["--duration", duration, "--settle", "1s"])
        .args(more)
        .finish(DEADLINE);
    serde_json::from_slice(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stderr))
}

fn number(report: &Value, path: &str) -> f64 {
    let value = report.pointer(path).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no {path} in {report:#}"))
}

/// Asserts that nothing was lost, nothing arrived twice, and frames have an age.
fn assert_whole(report: &Value) {
    for path in ["/requested", "/begun", "/joined", "/alive"] {
        assert_eq!(number(report, path), LISTENERS as f64, "{path}: {report:#}");
    }
    for path in ["holes", "repeated", "damaged", "unstamped", "restarts"] {
        let path = format!("/integrity/{path}");
        assert_eq!(number(report, &path), 0.0, "{path}: {report:#}");
    }
    assert_eq!(number(report, "/integrity/checked"), CHECKED as f64);
    assert!(number(report, "/integrity/frames") > 500.0, "{report:#}");
    let delay = (number(report, "/delay/p50"), number(report, "/delay/max"));
    assert!(delay.0 > 0.0 && delay.1 < 5_000.0, "{report:#}");
    assert_eq!(number(report, "/join/count"), LISTENERS as f64);
}

/// Asserts that the slowest and the fastest listener that read everything had that rate, within a frame and the samples of a
/// message.
fn assert_rate(report: &Value, bits: f64) {
    for path in ["/rate/p1", "/rate/p99"] {
        let ratio = number(report, path) / bits;
        assert!((0.6..1.4).contains(&ratio), "{path}: {ratio}: {report:#}");
    }
}

#[test]
fn listeners_of_a_mount_are_counted_and_checked() {
    let mut server = Server::start();
    let _publisher = publish(&server.icecast_url("radio.mp3", PUBLISH_KEY), &[]);
    wait_for_stream(&server, "radio.mp3");
    let pid = server.process().pid().to_string();
    let url = server.http_url("/radio.mp3");
    let behaviour = ["--stalled", "10%", "--slow", "10%:8k", "--pid", &pid];
    let report = listen(&url, &behaviour);
    assert_whole(&report);
    assert_rate(&report, 128_000.0);
    assert_eq!(number(&report, "/stalled"), 4.0);
    assert_eq!(number(&report, "/slow"), 4.0);
    // Stalled and slow listeners do not count in rates and gaps.
    assert_eq!(number(&report, "/rate/count"), 32.0);
    assert_eq!(number(&report, "/gap/count"), 32.0);
    assert!(number(&report, "/server/resident_bytes") > 1e6);
    assert!(number(&report, "/server/threads") > 1.0);
    assert!(number(&report, "/server/cpu") > 0.0);

    let titled = listen(&url, &["--icy", "--processes", "2"]);
    assert_whole(&titled);
    let processes = titled["generator"]["cpu"].as_array().map(Vec::len);
    assert_eq!(processes, Some(2));
}

#[test]
fn viewers_of_an_rtmp_stream_are_counted_and_checked() {
    let server = Server::start();
    let to = server.rtmp_url("live/show", PUBLISH_KEY);
    let _publisher = publish(&to, &["--video-rate", "400k", "--audio-rate", "96k"]);
    wait_for_stream(&server, "live/show");
    for url in [
        server.http_url("/live/show.flv"),
        format!("ws://{}/live/show.flv", server.addr("http")),
        format!("rtmp://{}/live/show", server.addr("rtmp")),
    ] {
        let report = listen(&url, &["--stalled", "5%"]);
        assert_whole(&report);
        assert_rate(&report, 496_000.0);
        assert_eq!(number(&report, "/stalled"), 2.0);
    }
}

#[test]
fn viewers_over_webrtc_are_counted_and_checked() {
    let server = Server::start();
    let http = server.addr("http");
    let to = format!("whip+http://{PUBLISH_KEY}@{http}/live/show/whip");
    let _publisher = publish(&to, &["--video-rate", "400k", "--audio-rate", "96k"]);
    wait_for_stream(&server, "live/show");
    let report = listen(&format!("whep+http://{http}/live/show/whep"), &[]);
    assert_whole(&report);
    for path in ["lost", "gaps", "refused", "nacked", "frames_dropped"] {
        let path = format!("/packets/{path}");
        assert_eq!(number(&report, &path), 0.0, "{path}: {report:#}");
    }
    let metrics = server.metrics();
    assert_eq!(metrics.sum("carillon_webrtc_failures_total", &[]), 0.0);
    let came = metrics.sum("carillon_webrtc_packets_total", &["way=\"whip\""]);
    assert!(came > 100.0, "{came} packets from the publisher");
}

#[test]
fn lost_and_refused_listeners_are_reported() {
    let server = Server::start();
    let mut publisher = publish(&server.icecast_url("radio.mp3", PUBLISH_KEY), &[]);
    wait_for_stream(&server, "radio.mp3");
    let refused = listen(&server.http_url("/nothing.mp3"), &[]);
    assert_eq!(number(&refused, "/failed/status 404"), LISTENERS as f64);
    assert_eq!(number(&refused, "/joined"), 0.0);

    let report = listen(&server.http_url("/radio.mp3"), &["--churn", "10/s"]);
    assert!(number(&report, "/churned") >= 10.0, "{report:#}");
    assert_eq!(
        number(&report, "/joined"),
        LISTENERS as f64 + number(&report, "/churned")
    );
    assert!(
        report["lost"]
            .as_object()
            .is_some_and(|lost| lost.is_empty())
    );

    let stranger = Tool::carillon()
        .args(["load", "publish"])
        .arg(server.icecast_url("other.mp3", "not-the-key"))
        .args(["--duration", "1m", "--json"])
        .finish(DEADLINE);
    assert!(!stranger.status.success());
    let report: Value = serde_json::from_slice(&stranger.stdout).unwrap();
    assert_eq!(number(&report, "/failed/status 401"), 1.0);
    assert!(publisher.is_running());
}

#[test]
fn dropped_listeners_are_distinguished() {
    let server = Server::builder()
        .set("fanout.video", "skip_after", "\"500ms\"")
        .set("fanout.video", "drop_after", "\"1s\"")
        .start();
    let to = server.rtmp_url("live/show", PUBLISH_KEY);
    let _publisher = publish(&to, &["--video-rate", "8M"]);
    wait_for_stream(&server, "live/show");
    let url = server.http_url("/live/show.flv");
    let report = listen_for("6s", &url, &["--stalled", "10%", "--slow", "5%:8k"]);
    let lost = report["lost"].as_object().unwrap();
    assert_eq!(lost.len(), 2, "{report:#}");
    assert_eq!(number(&report, "/lost/dropped while it was stalled"), 4.0);
    assert_eq!(number(&report, "/lost/dropped while it was slow"), 2.0);
    assert_eq!(number(&report, "/alive"), 34.0);
    assert_eq!(number(&report, "/integrity/holes"), 0.0, "{report:#}");
}

#[test]
fn many_publishers_send_a_file() {
    let server = Server::start();
    let clip = Clip::Mp3.seconds(8);
    let to = server.icecast_url("radio{n}.mp3", PUBLISH_KEY);
    let file = ["--publishers", "5", "--file", clip.to_str().unwrap()];
    let _publishers = publish(&to, &file);
    for number in 0..5 {
        wait_for_stream(&server, &format!("radio{number}.mp3"));
    }
    let url = server.http_url("/radio{n}.mp3");
    let report = listen(&url, &["--streams", "5", "--check", "5"]);
    assert_eq!(number(&report, "/alive"), LISTENERS as f64);
    // The clip has no stamps.
    assert_eq!(number(&report, "/integrity/frames"), 0.0);
    assert!(number(&report, "/integrity/unstamped") > 100.0);
    assert_eq!(number(&report, "/integrity/damaged"), 0.0);
}

/// The figures on our server are also available for another one.
#[test]
fn another_server_is_measured_alike() {
    let mut nginx = Nginx::start();
    let url = nginx.rtmp_url("show");
    let _publisher = publish(&url, &["--video-rate", "400k"]);
    nginx.wait_for_stream("show");
    let pid = nginx.process().pid().to_string();
    let report = listen(&url, &["--pid", &pid]);
    assert_whole(&report);
    assert_rate(&report, 528_000.0);
    // The master does nothing; the load finds its worker.
    assert!(number(&report, "/server/cpu") > 0.0);
}

#[test]
fn listeners_within_tls_are_counted_and_checked_alike() {
    let certificate = Certificate::make();
    let server = certificate
        .serve_at(&["http", "rtmp"], Server::builder())
        .start();
    let _radio = publish(&server.icecast_url("radio.mp3", PUBLISH_KEY), &[]);
    let show = server.rtmp_url("live/show", PUBLISH_KEY);
    let _show = publish(&show, &["--video-rate", "500k"]);
    for (stream, scheme, port) in [
        ("radio.mp3", "https", "https"),
        ("live/show", "wss", "https"),
        ("live/show", "rtmps", "rtmps"),
    ] {
        wait_for_stream(&server, stream);
        let url = format!("{scheme}://{}/{stream}", server.addr(port));
        assert_whole(&listen_for("8s", &url, &[]));
    }
}
