//! AVFoundation, on iPhones and Macs, requests the first two bytes of a stream before it listens. The server's reply makes its
//! next request include titles, and AVFoundation is counted as one listener everywhere.

use std::path::Path;

use serde_json::Value;
use testkit::http::{Listener, deinterleave};
use testkit::{Clip, PUBLISH_KEY, Server};

use crate::support::session_log::lines;
use crate::support::titles::{facts, update};
use crate::support::{DEADLINE, publish_icecast, wait_until};

const AGENT: &str = "AppleCoreMedia/1.0.0.20A362 (iPhone; U; CPU OS 16_0 like Mac OS X; en_us)";

/// Builds a request as AVFoundation sends it. The one that listens has no range.
fn request(server: &Server, range: &str) -> Vec<u8> {
    let host = server.addr("http");
    format!(
        "GET /radio.mp3 HTTP/1.1\r\nHost: {host}\r\nX-Playback-Session-Id: \
         0C9E7F1B-6A3C-4B0E-9E0B-0C9E7F1B6A3C\r\nicy-metadata: 1\r\n{range}Accept: */*\r\n\
         User-Agent: {AGENT}\r\nAccept-Language: en-US,en;q=0.9\r\nAccept-Encoding: identity\r\n\
         Connection: keep-alive\r\n\r\n"
    )
    .into_bytes()
}

/// Returns the number of listeners that have ever connected, from the operator's statistics.
fn connections(server: &Server) -> String {
    let answer = server.operator_get("/admin/stats").text();
    let (_, rest) = answer.split_once("<listener_connections>").unwrap();
    rest.split_once('<').unwrap().0.to_owned()
}

fn sessions(log: &Path) -> Vec<Value> {
    lines(log, "session")
}

#[test]
fn two_probes_and_a_listener_are_one_listener_with_titles() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("sessions.jsonl");
    let server = Server::builder()
        .with_admin_password()
        .set("log", "sessions", &format!("{log:?}"))
        .start();
    let _radio = publish_icecast(&server, Clip::Mp3, 90, "radio.mp3");
    wait_until("a title to be taken", || {
        update(server.addr("http"), PUBLISH_KEY, "song=Band+-+Song") == 200
    });
    for _ in 0..2 {
        let mut probe = Listener::send(
            server.addr("http"),
            &request(&server, "Range: bytes=0-1\r\n"),
        );
        // After 206 the next request would not include titles.
        assert_eq!(probe.status(), 200);
        assert_eq!(probe.header("content-range"), None);
        assert_eq!(probe.header("content-length"), None);
        assert_eq!(probe.header("content-type"), Some("audio/mpeg"));
        assert!(probe.header("icy-metaint").is_some());
        // The reply ends by itself, and would otherwise be a second listener.
        assert_eq!(probe.read_to_end(DEADLINE), b"\xFF\xFB");
    }
    let mut listener = Listener::send(server.addr("http"), &request(&server, ""));
    assert_eq!(listener.status(), 200);
    let interval: usize = listener.header("icy-metaint").unwrap().parse().unwrap();
    listener.read_bytes(2 * interval, DEADLINE);
    let (_, titles) = deinterleave(listener.body(), interval);
    assert_eq!(titles[0].1, "StreamTitle='Band - Song';");

    let reported = facts(server.addr("http"), "radio.mp3");
    assert_eq!(
        (&reported["listeners"], &reported["listener_peak"]),
        (&1.into(), &1.into()),
        "{reported}"
    );
    assert_eq!(connections(&server), "1");
    let metrics = server.metrics();
    assert_eq!(metrics.sum("carillon_listeners", &[]), 1.0);
    let listed = server.api("listeners");
    assert_eq!(
        listed["listeners"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    drop(listener);
    wait_until("its session", || !sessions(&log).is_empty());
    wait_until("it to have left", || {
        facts(server.addr("http"), "radio.mp3")["listeners"] == 0
    });
    let sessions = sessions(&log);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(sessions[0]["agent"], AGENT);
    assert_eq!(connections(&server), "1");
}
