//! Webhook receivers are notified of events, by messages that the specification's own library verifies; a message that a
//! receiver does not accept is sent again, after a restart too.

use std::collections::BTreeMap;

use testkit::{Clip, Server, Volume, free_address};

use crate::support::faults::{Bystander, Injection, is_journal_failing};
use crate::support::storage::{self, BUCKET, Storage, unchecked};
use crate::support::webhook_receiver::{Receiver, STREAM, outcomes, queued, server, webhook};
use crate::support::{DEADLINE, publish_rtmp, quoted, wait_until};

#[test]
fn what_a_killed_server_could_not_deliver_is_reported_with_the_same_identifier() {
    let root = tempfile::tempdir().unwrap();
    let first = Receiver::start();
    let url = first.url("/failing");
    let port = first.port;
    let wanted = "events = [\"recording.started\"]";
    // No receiver listens there.
    let away = format!("http://{}/ok", free_address());
    let hooks = format!("{}{}", webhook(&url, wanted), webhook(&away, wanted));
    let mut killed = server(root.path()).toml(&hooks).start();
    let _publisher = publish_rtmp(&killed, &Clip::Flv.seconds(30), STREAM);
    let refused = first.wait_for("/failing", "recording.started", 1).remove(0);
    wait_until("both to have failed", || {
        outcomes(&killed, "retried") >= 2.0
    });
    assert_eq!(queued(&killed), 2.0);
    killed.process().kill();
    drop(first);
    // The port is the same, and another receiver listens on it now.
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
    // The message to the receiver that is no longer configured is dropped.
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
    // These two receivers get nothing: one wants another stream, the other wants other kinds.
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
    // The server follows no redirection, and sends a message once where it is accepted.
    assert_eq!(receiver.of("/ok", "recording.started").len(), 1);
    assert_eq!(receiver.of("/ok", "recording.closed").len(), 1);
    assert!(receiver.reported().iter().all(|one| one["path"] != "/ok?a"));
}

#[test]
fn a_copy_is_reported_once_whatever_happens_to_the_server() {
    let root = tempfile::tempdir().unwrap();
    let object_storage = Storage::start(free_address(), None);
    let credentials = unchecked(root.path());
    let receiver = Receiver::start();
    let ok = receiver.url("/ok");
    let kind = "recording.uploaded";
    let server = || {
        let state = quoted(&root.path().join("state"));
        storage::server(root.path(), object_storage.address, &credentials, "1h")
            .set("webhooks", "directory", &state)
            .toml(&webhook(&ok, &format!("events = [{kind:?}]")))
            .start()
    };
    // Identifiers of the messages about each recording.
    let reported = || {
        let mut reported = BTreeMap::<String, Vec<String>>::new();
        for one in receiver.of("/ok", kind) {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            let ids = reported
                .entry(text(&one["message"]["data"]["id"]))
                .or_default();
            ids.push(text(&one["id"]));
        }
        reported
    };
    let files = storage::left_over(root.path(), &[4_000; 9]);
    let mut killed = server();
    receiver.wait_for("/ok", kind, 3);
    killed.process().kill();
    let mut second = server();
    storage::uploaded(&second, 9);
    wait_until("word of all", || reported().len() == 9);
    // Messages whose delivery was not persisted before the kill were repeated, as the same message.
    for (recording, ids) in &mut reported() {
        ids.dedup();
        assert_eq!(ids.len(), 1, "{recording}: {ids:?}");
    }
    wait_until("nothing to tell", || queued(&second) == 0.0);
    second.terminate(DEADLINE);
    let before = reported();
    // The server sends repetitions before new messages.
    let media = files.values().next().unwrap();
    let last = "recordings/radio.mp3/2026-11-22/12-00-00Z-0.mp3";
    std::fs::write(root.path().join(last), media).unwrap();
    let third = server();
    wait_until("word of the last", || reported().len() == 10);
    let mut now = reported();
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

/// Publishes a stream this many times; each turn queues its messages.
fn show(server: &Server, times: usize) {
    for turn in 1..=times {
        let before = queued(server);
        publish_rtmp(server, &Clip::Flv.seconds(1), STREAM).wait(DEADLINE);
        wait_until(&format!("the end of turn {turn}"), || {
            queued(server) >= before + 3.0
        });
    }
}

#[test]
fn a_receiver_that_was_away_is_reported_everything_in_order() {
    let root = tempfile::tempdir().unwrap();
    let port = free_address().port();
    let url = format!("http://127.0.0.1:{port}/ok");
    let hook = webhook(&url, "events = [\"stream.*\"]");
    let server = server(root.path()).toml(&hook).start();
    show(&server, 3);
    let waiting = queued(&server);
    let receiver = Receiver::at(port);
    // The server retries the receiver within a minute.
    testkit::wait_until("all to be delivered", 3 * DEADLINE, || {
        queued(&server) == 0.0
    });
    let reported = receiver.reported();
    assert_eq!(reported.len() as f64, waiting);
    receiver.is_in_order();
}

#[test]
fn what_a_full_disk_did_not_take_survives_a_kill_once_it_has_room() {
    let root = tempfile::tempdir().unwrap();
    let volume = Volume::memory(4_096);
    let full = std::fs::write(volume.path().join("ballast"), vec![0; 8 << 20]);
    assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    let port = free_address().port();
    let url = format!("http://127.0.0.1:{port}/ok");
    let wanted = "events = [\"stream.*\"]\nstreams = \"live/*\"";
    let hook = webhook(&url, wanted);
    let state = quoted(&volume.path().join("state"));
    let server = || {
        let server = server(root.path()).set("webhooks", "directory", &state);
        server.toml(&hook).start()
    };
    // The server starts although its state cannot be written.
    let mut killed = server();
    killed.wait_for_log("webhooks cannot be written down", DEADLINE);
    let mut other = Bystander::of(&killed);
    other.during(|| show(&killed, 2));
    assert!(is_journal_failing(&killed, "webhooks"));
    volume.resize(8_192);
    wait_until("the disk to take them", || {
        !is_journal_failing(&killed, "webhooks")
    });
    // A write to the existing file fails as well, temporarily.
    let fault = Injection::into_file(
        &killed,
        &volume.path().join("state/webhooks.redb"),
        "pwrite64:error=EIO",
    );
    show(&killed, 1);
    fault.wait();
    assert!(is_journal_failing(&killed, "webhooks"));
    drop(fault);
    wait_until("the disk to take them", || {
        !is_journal_failing(&killed, "webhooks")
    });
    other.noticed_nothing();
    let waiting = queued(&killed);
    killed.process().kill();
    let second = server();
    assert_eq!(queued(&second), waiting);
    let receiver = Receiver::at(port);
    testkit::wait_until("all to be delivered", 3 * DEADLINE, || {
        queued(&second) == 0.0
    });
    assert_eq!(receiver.reported().len() as f64, waiting);
    receiver.is_in_order();
}
