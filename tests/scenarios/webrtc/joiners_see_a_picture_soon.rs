//! An encoder makes a keyframe only on request, as browsers do: a joiner soon has a frame over every protocol, and the stream
//! takes no memory from others.

use serde_json::Value;
use testkit::{PUBLISH_KEY, Process, Server, Tool};

use crate::support::flv;
use crate::support::{DEADLINE, entry, wait_for_stream, wait_until};

const MIB: f64 = 1024.0 * 1024.0;

/// Publishes video over WHIP whose first frame alone is a keyframe, except for requested ones.
fn film(server: &Server, stream: &str, rate: &str) -> Process {
    let address = server.addr("http");
    let url = format!("whip+http://{PUBLISH_KEY}@{address}/{stream}/whip");
    Tool::carillon()
        .args(["load", "publish", &url, "--duration", "5m"])
        .args(["--video-rate", rate, "--keyframe-interval", "1h"])
        .start()
}

/// Waits until the stream's one keyframe is this old.
fn wait_for_age(server: &Server, stream: &str, seconds: f64) {
    wait_until("the keyframe to be old", || {
        let listed = entry(server, stream);
        let interval = listed["keyframes"]["interval_seconds"].as_f64();
        interval.is_some_and(|interval| interval > seconds)
    });
}

/// Without listeners no keyframe was requested: the joiner's is the first request.
#[test]
fn a_listener_of_flv_is_given_a_fresh_keyframe() {
    let server = Server::start();
    let _publisher = film(&server, "live/show", "4M");
    wait_for_stream(&server, "live/show");
    wait_for_age(&server, "live/show", 8.0);
    let mut listener = server.listen("/live/show.flv");
    assert_eq!(listener.status(), 200);
    let interval: f64 = listener
        .header("x-keyframe-interval")
        .unwrap()
        .parse()
        .unwrap();
    // The header is rounded to one decimal place.
    assert!(interval >= 8.0, "{interval}");
    assert_eq!(
        listener.header("x-notice"),
        None,
        "no joiner has to wait that long"
    );
    let has_pictures = |body: &[u8]| flv::times(body, 9).len() > 25;
    assert!(listener.read_until(DEADLINE, has_pictures), "no picture");
    // Sequence headers have the time of the next frame.
    let pictures = flv::times(listener.body(), 9);
    let audio_frames = flv::times(listener.body(), 8);
    assert!(
        pictures[0] > 5_000,
        "it began {} ms from the start",
        pictures[0]
    );
    let apart = pictures[0].abs_diff(audio_frames[0]);
    assert!(apart < 100, "picture and sound began {apart} ms apart");
}

#[test]
fn players_and_viewers_are_given_a_fresh_keyframe() {
    let server = Server::start();
    let rtmp = format!("rtmp://{}/live/played", server.addr("rtmp"));
    let whep = format!("whep+http://{}/live/viewed/whep", server.addr("http"));
    for (stream, url) in [("live/played", rtmp), ("live/viewed", whep)] {
        let _publisher = film(&server, stream, "4M");
        wait_for_stream(&server, stream);
        wait_for_age(&server, stream, 10.0);
        let finished = Tool::carillon()
            .args(["load", "listen", &url, "--json", "--listeners", "1"])
            // A busy machine takes some seconds over the handshake.
            .args(["--check", "1", "--duration", "3s", "--settle", "10s"])
            .finish(DEADLINE);
        let report: Value = serde_json::from_slice(&finished.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", finished.stderr));
        assert_eq!(report["joined"], 1, "{report:#}");
        assert_eq!(report["alive"], 1, "{report:#}");
        // The count includes video, and not audio alone: fifty audio frames a second arrive as well.
        let frames = report["integrity"]["frames"].as_f64().unwrap();
        assert!(frames > 50.0, "{report:#}");
        // No frame was ten seconds old when it arrived.
        let oldest = report["delay"]["max"].as_f64().unwrap();
        assert!(oldest < 8_000.0, "{report:#}");
    }
}

#[test]
fn memory_for_streams_is_a_bound_and_other_streams_do_not_pay() {
    let server = Server::builder()
        .set("fanout", "log_mib", "16")
        .arg("--demo")
        .start();
    let _publisher = film(&server, "live/greedy", "24M");
    wait_for_stream(&server, "live/greedy");
    let mut greedy = server.listen("/live/greedy.flv");
    assert_eq!(greedy.status(), 200);
    let bound = 16.0 * MIB * 1.1;
    // The six rounds are one and a half times the memory for streams.
    for round in 1..=6 {
        assert!(greedy.read_until(DEADLINE, |body| body.len() >= round * 4 * 1024 * 1024));
        let used = server.metrics().get("carillon_log_bytes").unwrap();
        assert!(used <= bound, "{used} bytes of logs");
    }
    let used = server.metrics().get("carillon_log_bytes").unwrap();
    assert!(used > 15.0 * MIB, "{used} bytes of logs are no test");
    for path in ["/demo.flv", "/live/greedy.flv"] {
        let mut listener = server.listen(path);
        assert_eq!(listener.status(), 200, "{path}");
        let has_pictures = |body: &[u8]| flv::times(body, 9).len() > 25;
        assert!(listener.read_until(DEADLINE, has_pictures), "{path}");
        let used = server.metrics().get("carillon_log_bytes").unwrap();
        assert!(used <= bound, "{used} bytes of logs");
    }
}
