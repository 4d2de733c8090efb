//! Webhook receivers are notified of events, by messages that the specification's own library verifies; a message that a
//! receiver does not accept is sent again, after a restart too.

use testkit::Clip;

use crate::support::webhook_receiver::{Receiver, STREAM, outcomes, queued, server, webhook};
use crate::support::{DEADLINE, delete, publish_rtmp, wait_until};

#[test]
fn a_receiver_is_reported_each_step_of_a_recording() {
    let root = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let ok = receiver.url("/ok");
    let server = server(root.path()).toml(&webhook(&ok, "")).start();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(4), STREAM);
    publisher.wait(DEADLINE);
    let kinds = "stream.published recording.started recording.closed recording.finalised \
                 stream.ended stream.unpublished";
    let mut reported = Vec::new();
    for kind in kinds.split(' ') {
        let [one] = &receiver.wait_for("/ok", kind, 1)[..] else {
            panic!("{:?}", receiver.reported());
        };
        reported.push(one.clone());
    }
    for one in receiver.reported() {
        assert_eq!(one["verified"], true, "{one}");
        assert_eq!(one["content_type"], "application/json");
        assert_eq!(one["message"]["data"]["stream"], STREAM);
    }
    let mut recording = server.api("recordings")["recordings"][0].clone();
    // Only the API knows the location of the recording's copy.
    recording.as_object_mut().unwrap().remove("location");
    let finalised = &reported[3]["message"]["data"];
    assert_eq!(*finalised, recording);
    assert_eq!(reported[0]["message"]["data"]["protocol"], "rtmp");
    assert_eq!(reported[4]["message"]["data"]["reason"], "abandoned");
    let id = recording["id"].as_str().unwrap();
    delete(&server, &format!("recordings/{id}"));
    let deleted = &receiver.wait_for("/ok", "recording.deleted", 1)[0];
    assert_eq!(deleted["message"]["data"]["id"], id);
    assert_eq!(deleted["message"]["data"]["reason"], "operator");
    wait_until("all to be delivered", || {
        outcomes(&server, "delivered") == 7.0 && queued(&server) == 0.0
    });
    let mut ids: Vec<_> = receiver
        .reported()
        .iter()
        .map(|it| it["id"].to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 7, "each once, each with its own");
    let reported = receiver.reported();
    let numbers = reported.iter().map(|it| &it["message"]["sequence"]);
    let numbers: Vec<u64> = numbers.map(|it| it.as_u64().unwrap()).collect();
    let first = numbers[0];
    assert_eq!(numbers, (first..first + 7).collect::<Vec<_>>(), "in order");
    assert_eq!(outcomes(&server, "retried"), 0.0);
}
