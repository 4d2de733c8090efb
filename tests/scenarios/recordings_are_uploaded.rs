//! Complete recordings arrive in object storage, whole and once, whatever happens to it or to the server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Clip, Process, Server, ServerBuilder, Signal, Tool, free_address, moto, wait_until};

use crate::support::{DEADLINE, publish_rtmp};

const BUCKET: &str = "radio";

/// Who asks for objects: they are private.
const USER: &str = "AKIAEXAMPLE:not-checked-here";

/// The size of a part.
const PART_BYTES: usize = 8 << 20;

/// An S3 server.
struct Storage {
    process: Process,
    address: SocketAddr,
}

impl Storage {
    /// Starts one with the bucket. After `open` requests it wants to know who asks.
    fn start(address: SocketAddr, open: Option<u32>) -> Self {
        let mut command = Command::new(moto());
        command.args(["-m", "moto.server", "-H", &address.ip().to_string()]);
        command.args(["-p", &address.port().to_string()]);
        if let Some(open) = open {
            command.env("INITIAL_NO_AUTH_ACTION_COUNT", open.to_string());
        }
        let process = Process::start("moto", &mut command);
        let storage = Self { process, address };
        wait_until("the storage", DEADLINE, || {
            storage.process.stderr().contains("Running on")
        });
        storage.curl(&["-X", "PUT"], &format!("/{BUCKET}"));
        storage
    }

    fn curl(&self, arguments: &[&str], path: &str) -> Vec<u8> {
        let url = format!("http://{}{path}", self.address);
        let tool = Tool::new("curl").args(["-s", "-S", "-f"]).args(arguments);
        tool.arg(url).run(DEADLINE)
    }

    /// An object, if it is there.
    fn object(&self, key: &str) -> Option<Vec<u8>> {
        let answer = Command::new("curl")
            .args(["-s", "-f", "--aws-sigv4", "aws:amz:us-east-1:s3"])
            .args(["--user", USER])
            .arg(format!("http://{}/{BUCKET}/{key}", self.address))
            .output();
        let answer = answer.expect("curl is installed");
        answer.status.success().then_some(answer.stdout)
    }

    /// How often each part and each whole object was taken, by what was asked for.
    fn taken(&self) -> BTreeMap<String, u32> {
        let mut taken = BTreeMap::new();
        for line in self.process.stderr().lines() {
            let Some((_, request)) = line.split_once("\"PUT ") else {
                continue;
            };
            if let Some((target, "200 -")) = request.split_once(" HTTP/1.1\" ") {
                *taken.entry(target.to_owned()).or_default() += 1;
            }
        }
        taken.remove(&format!("/{BUCKET}"));
        taken
    }
}

/// A file of credentials.
fn credentials(folder: &Path, id: &str, secret: &str) -> PathBuf {
    let path = folder.join("credentials");
    let text = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
    std::fs::write(&path, text).expect("written");
    path
}

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

fn server(root: &Path, storage: SocketAddr, credentials: &Path, keep_local: &str) -> ServerBuilder {
    Server::builder()
        .set("recording", "directory", &quoted(&root.join("recordings")))
        .set("recording", "min_free", "\"0B\"")
        .set("recording.upload", "bucket", &format!("{BUCKET:?}"))
        .set("recording.upload", "prefix", "\"archive/2026\"")
        .set(
            "recording.upload",
            "endpoint",
            &format!("\"http://{storage}\""),
        )
        .set("recording.upload", "credentials", &quoted(credentials))
        .set("recording.upload", "keep_local", &format!("{keep_local:?}"))
}

fn recordings(server: &Server) -> Vec<Value> {
    let answer = server.api("recordings");
    answer["recordings"].as_array().expect("a list").clone()
}

/// Waits until so many recordings are all in the storage.
fn uploaded(server: &Server, count: usize) -> Vec<Value> {
    wait_until(&format!("{count} uploads"), DEADLINE, || {
        let all = recordings(server);
        all.len() == count && all.iter().all(|one| one["uploaded"] == true)
    });
    recordings(server)
}

/// The name of an object in the bucket.
fn key(recording: &Value) -> String {
    let location = recording["location"].as_str().expect("a location");
    let key = location.strip_prefix(&format!("s3://{BUCKET}/"));
    key.expect("in the bucket").to_owned()
}

/// Bytes that differ from file to file, and within one.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(bytes / 8).flatten().collect()
}

/// Recordings of an earlier run: their paths below the bucket's prefix, and what is in them.
fn left_over(root: &Path, sizes: &[usize]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for (number, bytes) in sizes.iter().enumerate() {
        let name = format!("radio.mp3/2026-11-22/10-{number:02}-00Z-0.mp3");
        let path = root.join("recordings").join(&name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let media = noise(number as u64 + 1, *bytes);
        std::fs::write(&path, &media).expect("written");
        files.insert(format!("archive/2026/{name}"), media);
    }
    files
}

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
    assert!(!root.path().join("recordings/radio.mp3").exists());
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
