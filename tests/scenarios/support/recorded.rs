//! Server that records, and its recordings.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Server, ServerBuilder, Tool};

use crate::support::{DEADLINE, quoted, wait_until};

pub(crate) const STREAM: &str = "live/show";

/// Configures a server whose recordings are in this folder.
pub(crate) fn recording_into(root: &Path) -> ServerBuilder {
    Server::builder()
        .set("recording", "directory", &quoted(root))
        .set("recording", "min_free", "\"0B\"")
}

pub(crate) fn server(root: &Path) -> ServerBuilder {
    recording_into(root)
        .toml("[[record]]\nmatch = \"live/*\"\n[[record]]\nmatch = \"radio*\"\n")
        .toml(&format!(
            "[[files]]\npath = \"recordings\"\ndirectory = {:?}\n",
            root.display().to_string()
        ))
}

/// Returns the recordings, oldest first.
pub(crate) fn recordings(server: &Server) -> Vec<Value> {
    let answer = server.api("recordings");
    answer["recordings"].as_array().expect("a list").clone()
}

/// Returns the seconds that have been recorded.
pub(crate) fn seconds(server: &Server) -> f64 {
    let all = recordings(server).into_iter();
    all.map(|one| one["seconds"].as_f64().expect("a number"))
        .sum()
}

pub(crate) fn wait_for_seconds(server: &Server, least: f64) {
    wait_until(&format!("{least} seconds to be recorded"), || {
        seconds(server) >= least
    });
}

/// Waits until there are this many recordings, all finalised, and returns their files.
pub(crate) fn finalised(server: &Server, count: usize) -> Vec<PathBuf> {
    wait_until(&format!("{count} finalised recordings"), || {
        let all = recordings(server);
        all.len() == count && all.iter().all(|one| one["state"] == "finalised")
    });
    let all = recordings(server).into_iter();
    all.map(|one| one["path"].as_str().expect("a path").into())
        .collect()
}

/// Returns start and duration by ffprobe, in seconds.
pub(crate) fn probe(path: &Path) -> (f64, f64) {
    let reported = Tool::ffprobe()
        .args(["-v", "error", "-of", "csv=p=0"])
        .args(["-show_entries", "format=start_time,duration"])
        .arg(path)
        .run(DEADLINE);
    let reported = String::from_utf8(reported).expect("text");
    let numbers: Vec<f64> = reported
        .trim()
        .split(',')
        .map(|number| number.parse().expect("a number"))
        .collect();
    (numbers[0], numbers[1])
}
