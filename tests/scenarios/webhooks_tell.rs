//! Receivers are told what happens, by messages that the specification's own library verifies; what they do not take is
//! told again, after a restart too.

use std::collections::BTreeMap;
use std::path::Path;

use testkit::{Clip, Server, ServerBuilder, Signal, Tool, free_address, wait_until};

use crate::storage::{self, BUCKET, Storage};
use crate::support::{DEADLINE, publish_rtmp};
use crate::webhook_receiver::{KEY, Receiver};

const STREAM: &str = "live/show";

const OTHER_KEY: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

fn server(root: &Path) -> ServerBuilder {
    let path = |name: &str| format!("{:?}", root.join(name).display().to_string());
    Server::builder()
        .set("recording", "directory", &path("recordings"))
        .set("recording", "min_free", "\"0B\"")
        .set("webhooks", "directory", &path("state"))
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n")
}

fn webhook(url: &str, rest: &str) -> String {
    format!("[[webhook]]\nurl = \"{url}\"\nsecret = [\"{OTHER_KEY}\", \"{KEY}\"]\n{rest}\n")
}

fn outcomes(server: &Server, result: &str) -> f64 {
    let label = format!("result=\"{result}\"");
    server.metrics().sum("carillon_webhooks_total", &[&label])
}

fn queued(server: &Server) -> f64 {
    server.metrics().sum("carillon_webhook_queue", &[])
}

#[test]
fn a_receiver_is_told_each_step_of_a_recording() {
    let root = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let ok = receiver.url("/ok");
    let server = server(root.path()).toml(&webhook(&ok, "")).start();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(4), STREAM);
    publisher.wait(DEADLINE);
    let kinds = [
        "stream.published",
        "recording.started",
        "recording.closed",
        "recording.finalised",
        "stream.ended",
        "stream.unpublished",
    ];
    let mut told = Vec::new();
    for kind in kinds {
        let [one] = &receiver.wait_for("/ok", kind, 1)[..] else {
            panic!("{:?}", receiver.told());
        };
        told.push(one.clone());
    }
    for one in receiver.told() {
        assert_eq!(one["verified"], true, "{one}");
        assert_eq!(one["content_type"], "application/json");
        assert_eq!(one["message"]["data"]["stream"], STREAM);
    }
    let mut recording = server.api("recordings")["recordings"][0].clone();
    // Where its copy is, the API knows alone.
    recording.as_object_mut().unwrap().remove("location");
    let finalised = &told[3]["message"]["data"];
    assert_eq!(*finalised, recording);
    assert_eq!(told[0]["message"]["data"]["protocol"], "rtmp");
    assert_eq!(told[4]["message"]["data"]["reason"], "abandoned");
    let id = recording["id"].as_str().unwrap();
    let url = format!("http://{}/api/v1/recordings/{id}", server.addr("admin"));
    let _ = Tool::new("curl")
        .args(["-s", "-f", "-X", "DELETE"])
        .arg(&url)
        .run(DEADLINE);
    let deleted = &receiver.wait_for("/ok", "recording.deleted", 1)[0];
    assert_eq!(deleted["message"]["data"]["id"], id);
    assert_eq!(deleted["message"]["data"]["reason"], "operator");
    wait_until("all to be delivered", DEADLINE, || {
        outcomes(&server, "delivered") == 7.0 && queued(&server) == 0.0
    });
    let mut ids: Vec<_> = receiver
        .told()
        .iter()
        .map(|it| it["id"].to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 7, "each once, each with its own");
    assert_eq!(outcomes(&server, "retried"), 0.0);
}

#[test]
fn what_a_killed_server_could_not_deliver_is_told_with_the_same_identifier() {
    let root = tempfile::tempdir().unwrap();
    let first = Receiver::start();
    let url = first.url("/failing");
    let port = first.port;
    let wanted = "events = [\"recording.started\"]";
    // Nobody listens there.
    let away = format!("http://{}/ok", free_address());
    let hooks = format!("{}{}", webhook(&url, wanted), webhook(&away, wanted));
    let mut killed = server(root.path()).toml(&hooks).start();
    let _publisher = publish_rtmp(&killed, &Clip::Flv.seconds(30), STREAM);
    let refused = first.wait_for("/failing", "recording.started", 1).remove(0);
    wait_until("both to have failed", DEADLINE, || {
        outcomes(&killed, "retried") >= 2.0
    });
    assert_eq!(queued(&killed), 2.0);
    killed.process().signal(Signal::KILL);
    killed.process().wait(DEADLINE);
    drop(first);
    // The same address, and now another of them.
    let second = Receiver::at(port);
    let server = server(root.path()).toml(&webhook(&url, wanted)).start();
    let again = second
        .wait_for("/failing", "recording.started", 1)
        .remove(0);
    assert_eq!(again["verified"], true);
    assert_eq!(
        (&again["id"], &again["message"]),
        (&refused["id"], &refused["message"])
    );
    // The one that is not configured any more is dropped.
    assert_eq!(outcomes(&server, "dropped"), 1.0);
    assert_eq!(queued(&server), 1.0);
}

#[test]
fn what_is_not_taken_is_tried_again_and_who_is_gone_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let paths = ["/failing", "/gone", "/moved", "/ok", "/busy"];
    let wanted = "events = [\"recording.started\", \"recording.closed\"]";
    let mut hooks: String = paths
        .iter()
        .map(|path| webhook(&receiver.url(path), wanted))
        .collect();
    // Of another stream, and of other kinds, it hears nothing.
    hooks.push_str(&webhook(&receiver.url("/ok?a"), "streams = \"tv/*\""));
    hooks.push_str(&webhook(&receiver.url("/ok?b"), "events = [\"station.*\"]"));
    let server = server(root.path()).toml(&hooks).start();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(4), STREAM);
    publisher.wait(DEADLINE);
    for path in ["/failing", "/moved"] {
        let attempts = receiver.wait_for(path, "recording.started", 2);
        assert_eq!(attempts[0]["id"], attempts[1]["id"]);
        assert!(attempts.iter().all(|one| one["verified"] == true));
    }
    let attempts = receiver.wait_for("/busy", "recording.started", 2);
    let at = |attempt: usize| attempts[attempt]["timestamp"].as_u64().unwrap();
    assert!(at(1) - at(0) >= 8, "it has asked for nine seconds");
    receiver.wait_for("/ok", "recording.closed", 1);
    receiver.wait_for("/moved", "recording.closed", 1);
    assert_eq!(outcomes(&server, "gone"), 1.0);
    assert_eq!(receiver.of("/gone", "recording.started").len(), 1);
    assert!(receiver.of("/gone", "recording.closed").is_empty());
    // A redirection is not followed, and a message is told once where it is taken.
    assert_eq!(receiver.of("/ok", "recording.started").len(), 1);
    assert_eq!(receiver.of("/ok", "recording.closed").len(), 1);
    assert!(receiver.told().iter().all(|one| one["path"] != "/ok?a"));
}

#[test]
fn a_copy_is_told_of_once_whatever_happens_to_the_server() {
    let root = tempfile::tempdir().unwrap();
    let object_storage = Storage::start(free_address(), None);
    let credentials = storage::credentials(root.path(), "AKIAEXAMPLE", "not-checked-here");
    let receiver = Receiver::start();
    let ok = receiver.url("/ok");
    let kind = "recording.uploaded";
    let server = || {
        let state = format!("{:?}", root.path().join("state").display().to_string());
        storage::server(root.path(), object_storage.address, &credentials, "1h")
            .set("webhooks", "directory", &state)
            .toml(&webhook(&ok, &format!("events = [{kind:?}]")))
            .start()
    };
    // Which identifiers the messages about each recording had.
    let told = || {
        let mut told = BTreeMap::<String, Vec<String>>::new();
        for one in receiver.of("/ok", kind) {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            let ids = told.entry(text(&one["message"]["data"]["id"])).or_default();
            ids.push(text(&one["id"]));
        }
        told
    };
    let files = storage::left_over(root.path(), &[4_000; 9]);
    let mut killed = server();
    receiver.wait_for("/ok", kind, 3);
    killed.process().signal(Signal::KILL);
    killed.process().wait(DEADLINE);
    let mut second = server();
    storage::uploaded(&second, 9);
    wait_until("word of all", DEADLINE, || told().len() == 9);
    // What the kill may have kept from being written down was repeated, as the same message.
    for (recording, ids) in &mut told() {
        ids.dedup();
        assert_eq!(ids.len(), 1, "{recording}: {ids:?}");
    }
    wait_until("nothing to tell", DEADLINE, || queued(&second) == 0.0);
    second.terminate(DEADLINE);
    let before = told();
    // What is told again comes before what is new.
    let media = files.values().next().unwrap();
    let last = "recordings/radio.mp3/2026-11-22/12-00-00Z-0.mp3";
    std::fs::write(root.path().join(last), media).unwrap();
    let third = server();
    wait_until("word of the last", DEADLINE, || told().len() == 10);
    let mut now = told();
    now.retain(|recording, _| before.contains_key(recording));
    assert_eq!(now, before);
    for one in receiver.of("/ok", kind) {
        assert_eq!(one["verified"], true, "{one}");
        let mut data = one["message"]["data"].clone();
        let id = data["id"].as_str().unwrap().to_owned();
        let recording = third.api(&format!("recordings/{id}"));
        assert_eq!(data["bucket"], BUCKET);
        assert_eq!(data["key"], storage::key(&recording));
        assert_eq!(data["bytes"], 4_000);
        for name in ["bucket", "key"] {
            data.as_object_mut().unwrap().remove(name);
        }
        assert_eq!(data, recording);
    }
}
