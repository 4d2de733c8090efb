//! Helpers of scenarios that go back in time: recordings as the server lists them, times within them, and positions of frames
//! in the recordings.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use testkit::framemd5::Frame;
use testkit::{Server, Tool};

use crate::support::recorded::recording_into;
use crate::support::{DEADLINE, marks, wait_until};

pub(crate) const STREAM: &str = "live/show";

/// Starts a server that records; returns the folder of its recordings too.
pub(crate) fn server() -> (TempDir, Server) {
    let root = tempfile::tempdir().unwrap();
    let server = recording_into(root.path())
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n[[record]]\nmatch = \"radio*\"\n")
        .start();
    (root, server)
}

/// Returns the recordings of a stream as its listeners see them, newest first.
pub(crate) fn listed(server: &Server, stream: &str) -> Vec<Value> {
    let answer = server.get(&format!("/{stream}/recordings.json"));
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let all = answer["recordings"].as_array();
    all.cloned().unwrap_or_default()
}

/// Waits until the newest recording of a stream meets the condition.
pub(crate) fn newest(
    server: &Server,
    stream: &str,
    what: &str,
    is: impl Fn(&Value) -> bool,
) -> Value {
    let mut found = Value::Null;
    wait_until(what, || {
        found = listed(server, stream)
            .into_iter()
            .next()
            .unwrap_or_default();
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

/// Returns the path of a file on the disk, as the operator sees it.
pub(crate) fn on_disk(server: &Server, id: &str) -> String {
    let all = server.api("recordings");
    let all = all["recordings"].as_array().expect("a list");
    let one = all.iter().find(|one| one["id"] == id).expect("it");
    text(one, "path").to_owned()
}

/// Returns the time this many seconds after a recording's beginning, at most a minute.
pub(crate) fn after(one: &Value, seconds: u32) -> String {
    let started = text(one, "started").trim_end_matches('Z');
    let (minute, second) = started.rsplit_once(':').expect("a time");
    let begins: u32 = second.parse().unwrap();
    match begins + seconds {
        second @ 0..60 => format!("{minute}:{second:02}Z"),
        // The next minute may be in another hour, or on another day: this writes the present one, a minute west of Greenwich.
        second => format!("{minute}:{:02}-00:01", second - 60),
    }
}

/// Returns the index of `got` in `all`, which contains it in one run.
pub(crate) fn place(what: &str, got: &[Frame], all: &[Frame]) -> usize {
    let (got, all) = (marks(got), marks(all));
    let found = all.windows(got.len()).position(|run| run == got);
    found.unwrap_or_else(|| panic!("{what}: {} are no run of {}", got.len(), all.len()))
}

/// Counts the packets of each track, with ffprobe. Playlists are read from their beginning to their end, whenever that comes.
pub(crate) fn counted(input: impl AsRef<Path>) -> Value {
    let input = input.as_ref();
    let is_playlist = input.to_string_lossy().contains(".m3u8");
    let flags: &[&str] = match is_playlist {
        true => &["-live_start_index", "0"],
        false => &[],
    };
    let counted = Tool::ffprobe()
        .args(["-v", "error", "-count_packets", "-of", "json"])
        .args(flags)
        .args(["-show_entries", "stream=codec_type,nb_read_packets"])
        .arg(input)
        .run(3 * DEADLINE);
    let counted: Value = serde_json::from_slice(&counted).unwrap();
    counted["streams"].clone()
}
