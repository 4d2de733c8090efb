//! Complete recordings arrive in object storage, whole and once, whatever happens to the storage or to the server.

use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Clip, Server, Tool, free_address};

use crate::support::storage::{
    BUCKET, PART_BYTES, Storage, USER, assert_sent_once, assert_stored, credentials, key,
    left_over, recordings, server, unchecked, uploaded, uploads, wait_for_backlog,
    wait_for_no_object,
};
use crate::support::{DEADLINE, delete, order, publish_rtmp, wait_until};

#[test]
fn every_recording_arrives_whatever_fails() {
    let root = tempfile::tempdir().unwrap();
    let large = 3 * PART_BYTES + 4_096;
    let small = [80_000, 8, 4_000, 16_000, 2 << 20];
    let sizes = [&[large, 800, 1 << 20, large, PART_BYTES], &small[..]].concat();
    let files = left_over(root.path(), &sizes);
    let address = free_address();
    let credentials = unchecked(root.path());
    let server = |mbps| {
        server(root.path(), address, &credentials, "0s").set("recording.upload", "mbps", mbps)
    };
    // A large file takes six seconds, but its short last part needs only a moment.
    let mut killed = server("32").start();
    // The storage is away, and the server reports that.
    wait_until("failures", || uploads(&killed, "failed") >= 1.0);
    wait_for_backlog(&killed, sizes.iter().sum());
    killed.wait_for_log("Connection refused", DEADLINE);
    // The storage appears; the server is killed in the middle of a file, and returns.
    let storage = Storage::start(address, None);
    let is_part = |target: &String| target.contains("partNumber=");
    wait_until("a part", || storage.taken().keys().any(is_part));
    killed.process().kill();
    let mut server_up = server("0").start();
    let all = uploaded(&server_up, files.len());
    assert_stored(&storage, &all, &files);
    // Nothing was sent twice, except parts whose arrival was not persisted before the kill.
    assert_sent_once(&storage);
    wait_until("every part, in its log as well", || {
        storage.taken().keys().filter(|it| is_part(it)).count() == 2 * 4
    });
    wait_for_backlog(&server_up, 0);
    // The files are removed, and the recordings stay listed, over a restart as well.
    let is_gone = |server: &Server| {
        let all = recordings(server);
        all.len() == files.len() && all.iter().all(|one| one["path"].is_null())
    };
    wait_until("files to go", || is_gone(&server_up));
    let folder = root.path().join("recordings/radio.mp3");
    wait_until("their folder to go", || !folder.exists());
    let sent = storage.taken();
    server_up.terminate(DEADLINE);
    let server_up = server("0").start();
    assert!(is_gone(&server_up));
    let one = &recordings(&server_up)[3];
    let id = one["id"].as_str().expect("an id");
    // A recording can be fetched by its link, and removed.
    let link = server_up.api(&format!("recordings/{id}/link"));
    let link = link["url"].as_str().expect("an address");
    assert!(link.contains("X-Amz-Signature="), "{link}");
    let fetched = Tool::new("curl").args(["-s", "-f", link]).run(DEADLINE);
    assert!(fetched == files[&key(one)]);
    delete(&server_up, &format!("recordings/{id}"));
    wait_for_no_object(&storage, one);
    assert_eq!(recordings(&server_up).len(), files.len() - 1);
    assert_eq!(storage.taken(), sent);
}

/// A server that was killed rebuilds its catalogue of recordings from the files and from the journal of uploads.
#[test]
fn the_catalogue_is_made_again_from_the_disk() {
    let root = tempfile::tempdir().unwrap();
    let address = free_address();
    let credentials = unchecked(root.path());
    let sizes = [4_000, 8_000, 16_000, 32_000, 64_000, 128_000];
    let files = left_over(root.path(), &sizes);
    let start = || server(root.path(), address, &credentials, "0s").start();
    let path = |one: &Value| format!("recordings/{}", one["id"].as_str().expect("an id"));
    let pin = r#"{"pinned": true}"#;
    let mut killed = start();
    wait_until("all of them", || recordings(&killed).len() == files.len());
    // Two are pinned and one is removed, before anything is uploaded.
    let found = recordings(&killed);
    for pinned in [1, 3] {
        assert_eq!(order(&killed, "PATCH", &path(&found[pinned]), pin), 204);
    }
    delete(&killed, &path(&found[5]));
    let storage = Storage::start(address, None);
    let all = uploaded(&killed, files.len() - 1);
    wait_until("the files to go that are not pinned", || {
        let is_left = |one: &Value| one["path"].is_null() != (one["pinned"] == true);
        recordings(&killed).iter().all(is_left)
    });
    // A recording is removed after only its copy is left.
    let gone = all.iter().find(|one| one["pinned"] != true);
    let gone = gone.expect("one that is not pinned");
    delete(&killed, &path(gone));
    wait_for_no_object(&storage, gone);
    let before = recordings(&killed);
    let has_file = |one: &&Value| !one["path"].is_null();
    let with_file = before.iter().filter(has_file).count();
    assert_eq!((before.len(), with_file), (4, 2));
    killed.process().kill();
    // Without a server, the recordings with files are listed.
    let reported = Tool::carillon()
        .args(["rec", "ls", "--json"])
        .arg(root.path().join("recordings"))
        .run(DEADLINE);
    let reported: Value = serde_json::from_slice(&reported).expect("JSON");
    let of_files = |all: &[Value]| -> Vec<_> {
        let keys = [
            "id", "stream", "started", "seconds", "bytes", "pinned", "path",
        ];
        let files = all.iter().filter(has_file);
        let mut reported: Vec<_> = files.map(|one| keys.map(|key| one[key].clone())).collect();
        reported.sort_by_key(|one| one[0].to_string());
        reported
    };
    let listed = reported["recordings"].as_array().expect("a list");
    assert_eq!(of_files(listed), of_files(&before));
    // The journal of copies is read once the files are listed.
    let again = start();
    wait_until("the same catalogue", || recordings(&again) == before);
}

#[test]
fn what_is_recorded_is_uploaded_when_it_is_finalised() {
    let root = tempfile::tempdir().unwrap();
    let storage = Storage::start(free_address(), None);
    let credentials = unchecked(root.path());
    let server = server(root.path(), storage.address, &credentials, "1h")
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\nmax_count = 1\n")
        .start();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(6), "live/show");
    publisher.wait(DEADLINE);
    let recording = &uploaded(&server, 1)[0];
    assert_eq!(recording["state"], "finalised");
    let key = key(recording);
    assert!(
        key.starts_with("archive/2026/live/show/") && key.ends_with("Z-0.mp4"),
        "{key}"
    );
    // The file stays, and equals the object.
    let file = recording["path"].as_str().expect("it stays");
    let file = std::fs::read(file).expect("read");
    assert!(storage.object(&key) == Some(file));
    let signed = ["-I", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", USER];
    let head = storage.curl(&signed, &format!("/{BUCKET}/{key}"));
    let head = String::from_utf8(head).expect("text").to_lowercase();
    assert!(head.contains("content-type: video/mp4"), "{head}");
}

#[test]
fn wrong_credentials_are_reported_and_can_be_mended() {
    let root = tempfile::tempdir().unwrap();
    let files = left_over(root.path(), &[4_000, 8_000]);
    // These requests create the bucket, a user, its key and its rights.
    let storage = Storage::start(free_address(), Some(4));
    let scope = "Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/iam/aws4_request, \
        SignedHeaders=host, Signature=0";
    let iam = |data: &[&str]| {
        let version = ["-H", scope, "-d", "Version=2010-05-08&UserName=station"];
        let answer = storage.curl(&[&version[..], data].concat(), "/");
        String::from_utf8(answer).expect("text")
    };
    iam(&["-d", "Action=CreateUser"]);
    let made = iam(&["-d", "Action=CreateAccessKey"]);
    let rights = "PolicyDocument={\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\
        \"Action\":\"s3:*\",\"Resource\":\"*\"}]}";
    let policy = "Action=PutUserPolicy&PolicyName=all";
    iam(&["-d", policy, "--data-urlencode", rights]);
    let within = |tag: &str| {
        let (_, rest) = made.split_once(&format!("<{tag}>")).expect("an element");
        rest.split_once('<').expect("its end").0
    };
    let wrong = "wrong-but-secret-all-the-same";
    let path = credentials(root.path(), within("AccessKeyId"), wrong);
    let begun = Instant::now();
    let server = server(root.path(), storage.address, &path, "1h").start();
    let refused = || uploads(&server, "refused");
    wait_until("three refusals", || refused() >= 3.0);
    // Each refusal is one request, and the waits between them grow: half a second, and one second, at least.
    assert!(begun.elapsed() >= Duration::from_millis(1_500));
    let log = storage.process.stderr();
    let requests = log.matches("HEAD /").count();
    assert!(requests as f64 <= refused() + 1.0, "{log}");
    server.wait_for_log("the storage refuses the credentials", DEADLINE);
    let secret = within("SecretAccessKey");
    credentials(root.path(), within("AccessKeyId"), secret);
    uploaded(&server, files.len());
    let log = server.log();
    assert!(!log.contains(wrong) && !log.contains(secret), "{log}");
}
