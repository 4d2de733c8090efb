//! Recordings are found, pinned, and mended without a server.

use std::path::Path;

use serde_json::Value;
use testkit::{Clip, Server, Signal, Tool, wait_until};

use crate::support::{DEADLINE, publish_rtmp};

/// Runs `carillon rec`, and returns whether it succeeded, and what it said.
fn rec(arguments: &[&str], root: &Path) -> (bool, String) {
    let rec = Tool::carillon().arg("rec").args(arguments).arg(root);
    let done = rec.finish(DEADLINE);
    let said = String::from_utf8(done.stdout).unwrap() + &done.stderr;
    (done.status.success(), said)
}

fn list(root: &Path) -> Vec<Value> {
    let (is_done, said) = rec(&["ls", "--json"], root);
    assert!(is_done, "{said}");
    let told: Value = serde_json::from_str(&said).unwrap();
    told["recordings"].as_array().unwrap().clone()
}

fn found(server: &Server, query: &str) -> Vec<Value> {
    let answer = server.api(&format!("recordings?{query}"));
    answer["recordings"].as_array().unwrap().clone()
}

/// Sends a request about a recording, and returns its status.
fn ask(server: &Server, id: &str, method: &str, body: &str) -> String {
    let url = format!("http://{}/api/v1/recordings/{id}", server.addr("admin"));
    let told = Tool::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", method])
        .args(["-H", "Content-Type: application/json", "-d", body])
        .arg(url)
        .run(DEADLINE);
    String::from_utf8(told).unwrap()
}

#[test]
fn recordings_are_listed_and_mended_without_a_server() {
    let root = tempfile::tempdir().unwrap();
    let directory = format!("{:?}", root.path().display().to_string());
    let mut server = Server::builder()
        .set("recording", "directory", &directory)
        .set("recording", "min_free", "\"0B\"")
        .toml("[[record]]\nmatch = \"**\"\n")
        .start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(30), "live/show");
    wait_until("some seconds to be recorded", DEADLINE, || {
        let all = found(&server, "state=open");
        all.first()
            .is_some_and(|one| one["seconds"].as_f64() >= Some(2.0))
    });
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
    assert_eq!(ask(&server, id, "PATCH", r#"{"pinned": true}"#), "204");
    assert_eq!(ask(&server, id, "PATCH", r#"{"pinned": 1}"#), "400");
    let other = "0".repeat(24);
    assert_eq!(ask(&server, &other, "PATCH", r#"{"pinned": true}"#), "404");
    assert_eq!(found(&server, "")[0]["pinned"], true);
    // A server has it.
    let (is_done, said) = rec(&["fix"], root.path());
    assert!(!is_done && said.contains("another process"), "{said}");
    server.process().signal(Signal::KILL);
    server.process().wait(DEADLINE);
    let left = &list(root.path())[0];
    let (is_done, said) = rec(&["fix"], root.path());
    assert!(is_done && said.contains("closed: "), "{said}");
    let mended = &list(root.path())[0];
    assert_eq!(mended["state"], "finalised");
    for key in ["id", "seconds", "started"] {
        assert_eq!(mended[key], left[key], "{key}");
    }
    // The mark was of the file.
    assert_eq!(mended["pinned"], true);
    let (is_done, said) = rec(&["ls"], root.path());
    assert!(is_done && said.contains("1 recordings, "), "{said}");
}
