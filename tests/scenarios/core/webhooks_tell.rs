//! Receivers are told what happens, by messages that the specification's own library verifies; what they do not take is
//! told again, after a restart too.

use testkit::{Clip, Tool, wait_until};

use crate::support::webhook_receiver::{Receiver, STREAM, outcomes, queued, server, webhook};
use crate::support::{DEADLINE, publish_rtmp};

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
    let told = receiver.told();
    let numbers = told.iter().map(|it| &it["message"]["sequence"]);
    let numbers: Vec<u64> = numbers.map(|it| it.as_u64().unwrap()).collect();
    let first = numbers[0];
    assert_eq!(numbers, (first..first + 7).collect::<Vec<_>>(), "in order");
    assert_eq!(outcomes(&server, "retried"), 0.0);
}
