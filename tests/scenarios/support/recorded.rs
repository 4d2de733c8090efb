//! A server that records, and its recordings.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::framemd5::Frame;
use testkit::{Server, ServerBuilder, Tool, wait_until};

use crate::support::DEADLINE;

pub(crate) const STREAM: &str = "live/show";

pub(crate) fn server(root: &Path) -> ServerBuilder {
    Server::builder()
        .set(
            "recording",
            "directory",
            &format!("{:?}", root.display().to_string()),
        )
        .set("recording", "min_free", "\"0B\"")
        .toml("[[record]]\nmatch = \"live/*\"\n[[record]]\nmatch = \"radio*\"\n")
        .toml(&format!(
            "[[files]]\npath = \"recordings\"\ndirectory = {:?}\n",
            root.display().to_string()
        ))
}

/// The recordings, oldest first.
pub(crate) fn recordings(server: &Server) -> Vec<Value> {
    let answer = server.api("recordings");
    answer["recordings"].as_array().expect("a list").clone()
}

/// Waits until there are so many recordings, all finalised, and returns their files.
pub(crate) fn finalised(server: &Server, count: usize) -> Vec<PathBuf> {
    wait_until(&format!("{count} finalised recordings"), DEADLINE, || {
        let all = recordings(server);
        all.len() == count && all.iter().all(|one| one["state"] == "finalised")
    });
    let all = recordings(server).into_iter();
    all.map(|one| one["path"].as_str().expect("a path").into())
        .collect()
}

/// Start and duration as ffprobe has them, in seconds.
pub(crate) fn probe(path: &Path) -> (f64, f64) {
    let told = Tool::ffprobe()
        .args(["-v", "error", "-of", "csv=p=0"])
        .args(["-show_entries", "format=start_time,duration"])
        .arg(path)
        .run(DEADLINE);
    let told = String::from_utf8(told).expect("text");
    let numbers: Vec<f64> = told
        .trim()
        .split(',')
        .map(|number| number.parse().expect("a number"))
        .collect();
    (numbers[0], numbers[1])
}

pub(crate) fn hashes(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.md5.as_str()).collect()
}
