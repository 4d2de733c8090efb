//! Recordings are found, pinned, and repaired without a server.

use std::path::Path;

use serde_json::Value;
use testkit::{Clip, Server, Tool};

use crate::support::recorded::{recording_into, wait_for_seconds};
use crate::support::{DEADLINE, order, publish_rtmp};

/// Runs `carillon rec`; returns whether it succeeded, and its output.
fn rec(arguments: &[&str], root: &Path) -> (bool, String) {
    let rec = Tool::carillon().arg("rec").args(arguments).arg(root);
    let done = rec.finish(DEADLINE);
    let said = String::from_utf8(done.stdout).unwrap() + &done.stderr;
    (done.status.success(), said)
}

fn list(root: &Path) -> Vec<Value> {
    let (is_done, said) = rec(&["ls", "--json"], root);
    assert!(is_done, "{said}");
    let reported: Value = serde_json::from_str(&said).unwrap();
    reported["recordings"].as_array().unwrap().clone()
}

fn found(server: &Server, query: &str) -> Vec<Value> {
    let answer = server.api(&format!("recordings?{query}"));
    answer["recordings"].as_array().unwrap().clone()
}

#[test]
fn recordings_are_listed_and_mended_without_a_server() {
    let root = tempfile::tempdir().unwrap();
    let mut server = recording_into(root.path())
        .toml("[[record]]\nmatch = \"**\"\n")
        .start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(30), "live/show");
    wait_for_seconds(&server, 2.0);
    assert_eq!(found(&server, "state=open").len(), 1);
    let [open] = &list(root.path())[..] else {
        panic!("{:?}", list(root.path()));
    };
    assert_eq!(open["state"], "open");
    let id = open["id"].as_str().unwrap();
    assert_eq!(found(&server, "")[0]["id"], id);
    assert!(found(&server, "state=finalised").is_empty());
    assert!(found(&server, "from=2100-01-01T00:00:00Z").is_empty());
    assert!(found(&server, "to=2001-01-01T00:00:00Z").is_empty());
    let day = "from=2001-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&stream=live/show";
    assert_eq!(found(&server, day).len(), 1);
    let pin = |id: &str, value: &str| {
        let body = format!("{{\"pinned\": {value}}}");
        order(&server, "PATCH", &format!("recordings/{id}"), &body)
    };
    assert_eq!(pin(id, "true"), 204);
    assert_eq!(pin(id, "1"), 400);
    let other = "0".repeat(24);
    assert_eq!(pin(&other, "true"), 404);
    assert_eq!(found(&server, "")[0]["pinned"], true);
    // A server has the folder open.
    let (is_done, said) = rec(&["fix"], root.path());
    assert!(!is_done && said.contains("another process"), "{said}");
    server.process().kill();
    let left = &list(root.path())[0];
    let (is_done, said) = rec(&["fix"], root.path());
    assert!(is_done && said.contains("closed: "), "{said}");
    let mended = &list(root.path())[0];
    assert_eq!(mended["state"], "finalised");
    for key in ["id", "seconds", "started"] {
        assert_eq!(mended[key], left[key], "{key}");
    }
    // The mark belongs to the file.
    assert_eq!(mended["pinned"], true);
    let (is_done, said) = rec(&["ls"], root.path());
    assert!(is_done && said.contains("1 recordings, "), "{said}");
}
