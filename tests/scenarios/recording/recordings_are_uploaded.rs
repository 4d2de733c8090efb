//! Complete recordings arrive in object storage, whole and once, whatever happens to it or to the server.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Clip, Server, Signal, Tool, free_address, wait_until};

use crate::support::storage::{
    BUCKET, PART_BYTES, Storage, USER, credentials, key, left_over, recordings, server, uploaded,
};
use crate::support::{DEADLINE, publish_rtmp};

#[test]
fn every_recording_arrives_whatever_fails() {
    let root = tempfile::tempdir().unwrap();
    let large = 3 * PART_BYTES + 4_096;
    let sizes = [
        large,
        800,
        1 << 20,
        large,
        PART_BYTES,
        80_000,
        8,
        4_000,
        16_000,
        2 << 20,
    ];
    let files = left_over(root.path(), &sizes);
    let address = free_address();
    let credentials = credentials(root.path(), "AKIAEXAMPLE", "not-checked-here");
    let server = |mbps| {
        server(root.path(), address, &credentials, "0s").set("recording.upload", "mbps", mbps)
    };
    // A large file takes six seconds, of which its last part, the short one, needs the first moment.
    let mut killed = server("32").start();
    // The storage is away, and that is told.
    wait_until("failures", DEADLINE, || {
        let metrics = killed.metrics();
        metrics.sum("carillon_uploads_total", &["result=\"failed\""]) >= 1.0
    });
    let bytes = sizes.iter().sum::<usize>() as f64;
    wait_until("the whole backlog", DEADLINE, || {
        killed.metrics().get("carillon_upload_backlog_bytes") == Some(bytes)
    });
    killed.wait_for_log("Connection refused", DEADLINE);
    // It comes; the server is killed in the middle of a file, and returns.
    let storage = Storage::start(address, None);
    let is_part = |target: &String| target.contains("partNumber=");
    wait_until("a part", DEADLINE, || storage.taken().keys().any(is_part));
    killed.process().signal(Signal::KILL);
    killed.process().wait(DEADLINE);
    let mut server_up = server("0").start();
    let all = uploaded(&server_up, files.len());
    for recording in &all {
        let key = key(recording);
        let object = storage.object(&key).expect("it is there");
        assert!(object == files[&key], "{key} differs");
    }
    // Nothing was sent in vain, but what the kill may have kept from being written down.
    let mut repeated = BTreeMap::<String, u32>::new();
    for (target, count) in storage.taken() {
        let file = target.split('?').next().expect("a path").to_owned();
        *repeated.entry(file).or_default() += count - 1;
    }
    assert!(repeated.values().all(|count| *count <= 1), "{repeated:?}");
    wait_until("every part, in its log as well", DEADLINE, || {
        storage.taken().keys().filter(|it| is_part(it)).count() == 2 * 4
    });
    wait_until("an empty backlog", DEADLINE, || {
        server_up.metrics().get("carillon_upload_backlog_bytes") == Some(0.0)
    });
    // The files go, and the recordings stay, over a restart as well.
    let is_gone = |server: &Server| {
        let all = recordings(server);
        all.len() == files.len() && all.iter().all(|one| one["path"].is_null())
    };
    wait_until("files to go", DEADLINE, || is_gone(&server_up));
    let folder = root.path().join("recordings/radio.mp3");
    wait_until("their folder to go", DEADLINE, || !folder.exists());
    let sent = storage.taken();
    server_up.terminate(DEADLINE);
    let server_up = server("0").start();
    assert!(is_gone(&server_up));
    let one = &recordings(&server_up)[3];
    let id = one["id"].as_str().expect("an id");
    // They can be fetched by a link of its own, and removed.
    let link = server_up.api(&format!("recordings/{id}/link"));
    let link = link["url"].as_str().expect("an address");
    assert!(link.contains("X-Amz-Signature="), "{link}");
    let fetched = Tool::new("curl").args(["-s", "-f", link]).run(DEADLINE);
    assert!(fetched == files[&key(one)]);
    let url = format!("http://{}/api/v1/recordings/{id}", server_up.addr("admin"));
    let _ = Tool::new("curl")
        .args(["-s", "-f", "-X", "DELETE", &url])
        .run(DEADLINE);
    wait_until("the object to go", DEADLINE, || {
        storage.object(&key(one)).is_none()
    });
    assert_eq!(recordings(&server_up).len(), files.len() - 1);
    assert_eq!(storage.taken(), sent);
}

/// What a server that was killed knew of its recordings is read again from the files and from what was written down of
/// uploads.
#[test]
fn the_catalogue_is_made_again_from_the_disk() {
    let root = tempfile::tempdir().unwrap();
    let address = free_address();
    let credentials = credentials(root.path(), "AKIAEXAMPLE", "not-checked-here");
    let files = left_over(
        root.path(),
        &[4_000, 8_000, 16_000, 32_000, 64_000, 128_000],
    );
    let start = || server(root.path(), address, &credentials, "0s").start();
    let change = |server: &Server, one: &Value, arguments: &[&str]| {
        let id = one["id"].as_str().expect("an id");
        let url = format!("http://{}/api/v1/recordings/{id}", server.addr("admin"));
        let _ = Tool::new("curl")
            .args(["-s", "-f"])
            .args(arguments)
            .arg(url)
            .run(DEADLINE);
    };
    let pin = [
        "-X",
        "PATCH",
        "-H",
        "Content-Type: application/json",
        "-d",
        r#"{"pinned": true}"#,
    ];
    let mut killed = start();
    wait_until("all of them", DEADLINE, || {
        recordings(&killed).len() == files.len()
    });
    // Two are pinned and one is removed, before anything is uploaded.
    let found = recordings(&killed);
    change(&killed, &found[1], &pin);
    change(&killed, &found[3], &pin);
    change(&killed, &found[5], &["-X", "DELETE"]);
    let storage = Storage::start(address, None);
    let all = uploaded(&killed, files.len() - 1);
    wait_until("the files to go that are not pinned", DEADLINE, || {
        let is_left = |one: &Value| one["path"].is_null() != (one["pinned"] == true);
        recordings(&killed).iter().all(is_left)
    });
    // One of those is removed of which the copy alone is left.
    let gone = all.iter().find(|one| one["pinned"] != true);
    let gone = gone.expect("one that is not pinned");
    change(&killed, gone, &["-X", "DELETE"]);
    wait_until("the object to go", DEADLINE, || {
        storage.object(&key(gone)).is_none()
    });
    let before = recordings(&killed);
    let has_file = |one: &&Value| !one["path"].is_null();
    assert_eq!(
        (before.len(), before.iter().filter(has_file).count()),
        (4, 2)
    );
    killed.process().signal(Signal::KILL);
    killed.process().wait(DEADLINE);
    // Without a server, those that have files are listed.
    let told = Tool::carillon()
        .args(["rec", "ls", "--json"])
        .arg(root.path().join("recordings"))
        .run(DEADLINE);
    let told: Value = serde_json::from_slice(&told).expect("JSON");
    let of_files = |all: &[Value]| -> Vec<_> {
        let keys = [
            "id", "stream", "started", "seconds", "bytes", "pinned", "path",
        ];
        let files = all.iter().filter(has_file);
        let mut told: Vec<_> = files.map(|one| keys.map(|key| one[key].clone())).collect();
        told.sort_by_key(|one| one[0].to_string());
        told
    };
    let listed = told["recordings"].as_array().expect("a list");
    assert_eq!(of_files(listed), of_files(&before));
    // What was written down of copies is read once the files are listed.
    let again = start();
    wait_until("the same catalogue", DEADLINE, || {
        recordings(&again) == before
    });
}

#[test]
fn what_is_recorded_is_uploaded_when_it_is_finalised() {
    let root = tempfile::tempdir().unwrap();
    let storage = Storage::start(free_address(), None);
    let credentials = credentials(root.path(), "AKIAEXAMPLE", "not-checked-here");
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
    // The file stays, and is what was sent.
    let file = recording["path"].as_str().expect("it stays");
    let file = std::fs::read(file).expect("read");
    assert!(storage.object(&key) == Some(file));
    let signed = ["-I", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", USER];
    let head = storage.curl(&signed, &format!("/{BUCKET}/{key}"));
    let head = String::from_utf8(head).expect("text").to_lowercase();
    assert!(head.contains("content-type: video/mp4"), "{head}");
}

#[test]
fn wrong_credentials_are_told_and_can_be_mended() {
    let root = tempfile::tempdir().unwrap();
    let files = left_over(root.path(), &[4_000, 8_000]);
    // The bucket, a user, its key and its rights.
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
    iam(&[
        "-d",
        "Action=PutUserPolicy&PolicyName=all",
        "--data-urlencode",
        rights,
    ]);
    let within = |tag: &str| {
        let (_, rest) = made.split_once(&format!("<{tag}>")).expect("an element");
        rest.split_once('<').expect("its end").0
    };
    let wrong = "wrong-but-secret-all-the-same";
    let path = credentials(root.path(), within("AccessKeyId"), wrong);
    let begun = Instant::now();
    let server = server(root.path(), storage.address, &path, "1h").start();
    let refused = || {
        let metrics = server.metrics();
        metrics.sum("carillon_uploads_total", &["result=\"refused\""])
    };
    wait_until("three refusals", DEADLINE, || refused() >= 3.0);
    // Each is one request, and the waits between them grow: half a second, and one, at least.
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
