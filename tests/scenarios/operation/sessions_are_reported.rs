//! Webhook receivers are notified of listeners that come and go, in signed batches; also of those of a server that ends or is
//! killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use testkit::{Clip, Process, Server, ServerBuilder, Tool};

use crate::support::webhook_receiver::{KEY, Receiver};
use crate::support::{DEADLINE, play_url, publish_icecast, publish_rtmp, quoted, take, wait_until};

/// Paths of the receivers: one for sessions of `live/*`, and one for all events but sessions.
const LIVE: &str = "/ok?live";
const ALL: &str = "/ok?all";

fn builder(root: &Path, receiver: &Receiver) -> ServerBuilder {
    let path = |name: &str| quoted(&root.join(name));
    let (of_live, of_all) = (receiver.url(LIVE), receiver.url(ALL));
    Server::builder()
        .set("log", "sessions", &path("sessions.jsonl"))
        .set("log", "checkpoint", "\"1s\"")
        .set("webhooks", "directory", &path("state"))
        .toml(&format!(
            "[[webhook]]\nurl = \"{of_live}\"\nsecret = \"{KEY}\"\nevents = [\"session.*\"]\nstreams = \"live/*\"\n\
             [[webhook]]\nurl = \"{of_all}\"\nsecret = \"{KEY}\"\n"
        ))
}

/// Returns the sessions in these messages, by identifier.
fn sessions(receiver: &Receiver, path: &str, kind: &str) -> BTreeMap<String, Value> {
    let (mut messages, mut all) = (BTreeSet::new(), BTreeMap::new());
    for reported in receiver.of(path, kind) {
        assert_eq!(reported["verified"], true, "{reported}");
        // A message that was delivered just before a kill is delivered again.
        if !messages.insert(reported["id"].to_string()) {
            continue;
        }
        let data = &reported["message"]["data"];
        for session in data["sessions"].as_array().unwrap() {
            assert_eq!(session["stream"], data["stream"]);
            let id = session["id"].as_str().unwrap().to_owned();
            let before = all.insert(id, session.clone());
            assert!(before.is_none(), "twice: {session}");
        }
    }
    all
}

/// Waits for this many sessions.
fn wait_for(receiver: &Receiver, kind: &str, count: usize) -> BTreeMap<String, Value> {
    wait_until(&format!("{count} × {kind}"), || {
        sessions(receiver, LIVE, kind).len() >= count
    });
    sessions(receiver, LIVE, kind)
}

/// Waits until at least this many sessions have begun and ended.
fn wait_for_ends(receiver: &Receiver, count: usize) -> BTreeMap<String, Value> {
    let all = |kind| sessions(receiver, LIVE, kind);
    wait_until(&format!("{count} ends"), || {
        let (started, ended) = (all("session.started"), all("session.ended"));
        ended.len() >= count && ended.keys().eq(started.keys())
    });
    all("session.ended")
}

fn agents(sessions: &BTreeMap<String, Value>) -> Vec<&str> {
    let mut agents: Vec<_> = sessions
        .values()
        .map(|session| session["agent"].as_str().unwrap())
        .map(|agent| agent.split(['/', ' ', ',']).next().unwrap())
        .collect();
    agents.sort_unstable();
    agents
}

fn curl(server: &Server) -> Process {
    let url = server.http_url("/live/show.flv");
    Tool::new("curl")
        .args(["-s", "-o", "/dev/null", &url])
        .start()
}

#[test]
fn as_they_come_and_go_and_after_a_kill() {
    let root = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let mut server = builder(root.path(), &receiver).start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(120), "live/show");
    let _radio = publish_icecast(&server, Clip::Mp3, 120, "radio.mp3");
    let mut unwanted = server.listen("/radio.mp3");
    unwanted.read_bytes(20_000, DEADLINE);
    let mut players = [
        take(&play_url(&server, "live/show"), &[]),
        curl(&server),
        Tool::new("mpv")
            .args(["--no-config", "--vo=null", "--ao=null"])
            .arg("--user-agent=mpv/player")
            .arg(server.http_url("/live/show/index.m3u8"))
            .start(),
    ];
    let started = wait_for(&receiver, "session.started", 3);
    let names = agents(&started);
    assert!(
        names.contains(&"curl") && names.contains(&"mpv"),
        "{names:?}"
    );
    for player in &mut players[..2] {
        player.kill();
    }
    let ended = wait_for(&receiver, "session.ended", 2);
    for (id, session) in &ended {
        assert_eq!(session["reason"], "left", "{session}");
        assert!(session["bytes"].as_u64().unwrap() > 0, "{session}");
        assert_eq!(session["started"], started[id]["started"]);
    }
    // The log has the same sessions.
    let log = std::fs::read_to_string(root.path().join("sessions.jsonl")).unwrap();
    for session in ended.values() {
        let line = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|it| it == *session);
        assert!(log.lines().any(line), "{session}");
    }
    // The last player is present when the server ends.
    server.terminate(DEADLINE);
    let ended = wait_for_ends(&receiver, 3).len();
    drop(players);

    let mut killed = builder(root.path(), &receiver).start();
    let _show = publish_rtmp(&killed, &Clip::Flv.seconds(120), "live/show");
    let _player = curl(&killed);
    wait_for(&receiver, "session.started", ended + 1);
    wait_until("a checkpoint", || {
        let files = std::fs::read_dir(root.path()).unwrap();
        files
            .flatten()
            .any(|file| file.path().extension().is_some_and(|it| it == "open"))
    });
    killed.process().kill();
    let _server = builder(root.path(), &receiver).start();
    let ended = wait_for_ends(&receiver, ended + 1);
    let reasons = ended
        .values()
        .filter(|session| session["reason"] == "killed");
    assert_eq!(reasons.count(), 1);
    // Receivers that do not request sessions are not notified of any.
    for kind in ["session.started", "session.ended"] {
        assert!(sessions(&receiver, ALL, kind).is_empty());
    }
    assert!(!receiver.of(ALL, "stream.published").is_empty());
}
