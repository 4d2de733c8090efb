//! What scenarios that go back in time share: recordings as the server lists them, times within them, and where frames are in
//! what was recorded.

use serde_json::Value;
use tempfile::TempDir;
use testkit::framemd5::Frame;
use testkit::{Server, wait_until};

use crate::support::DEADLINE;

pub(crate) const STREAM: &str = "live/show";

/// A server that records, and the place where.
pub(crate) fn server() -> (TempDir, Server) {
    let root = tempfile::tempdir().unwrap();
    let directory = format!("{:?}", root.path().display().to_string());
    let server = Server::builder()
        .set("recording", "directory", &directory)
        .set("recording", "min_free", "\"0B\"")
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n[[record]]\nmatch = \"radio*\"\n")
        .start();
    (root, server)
}

/// Waits until the newest recording of a stream is so.
pub(crate) fn newest(
    server: &Server,
    stream: &str,
    what: &str,
    is: impl Fn(&Value) -> bool,
) -> Value {
    let mut found = Value::Null;
    wait_until(what, DEADLINE, || {
        let answer = server.get(&format!("/{stream}/recordings.json"));
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        found = answer["recordings"][0].clone();
        !found.is_null() && is(&found)
    });
    found
}

pub(crate) fn text<'a>(one: &'a Value, key: &str) -> &'a str {
    let text = one[key].as_str();
    text.unwrap_or_else(|| panic!("{key} of {one}"))
}

pub(crate) fn has_seconds(seconds: f64) -> impl Fn(&Value) -> bool {
    move |one| one["seconds"].as_f64() >= Some(seconds)
}

pub(crate) fn is_final(one: &Value) -> bool {
    one["state"] == "finalised"
}

/// The path of a file on the disk, as the operator sees it.
pub(crate) fn on_disk(server: &Server, id: &str) -> String {
    let all = server.api("recordings");
    let all = all["recordings"].as_array().expect("a list");
    let one = all.iter().find(|one| one["id"] == id).expect("it");
    text(one, "path").to_owned()
}

/// The time so many seconds after a recording's beginning, at most a minute.
pub(crate) fn after(one: &Value, seconds: u32) -> String {
    let started = text(one, "started").trim_end_matches('Z');
    let (minute, second) = started.rsplit_once(':').expect("a time");
    let begins: u32 = second.parse().unwrap();
    match begins + seconds {
        second @ 0..60 => format!("{minute}:{second:02}Z"),
        // The next minute may be in another hour, or on another day: it is this one, a minute west of Greenwich.
        second => format!("{minute}:{:02}-00:01", second - 60),
    }
}

pub(crate) fn marks(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.md5.as_str()).collect()
}

/// Where `got` is in `all`, which has it in one run.
pub(crate) fn place(what: &str, got: &[Frame], all: &[Frame]) -> usize {
    let (got, all) = (marks(got), marks(all));
    let found = all.windows(got.len()).position(|run| run == got);
    found.unwrap_or_else(|| panic!("{what}: {} are no run of {}", got.len(), all.len()))
}
