//! Session log as operators read it, and the titles in it.

use std::path::Path;

use serde_json::Value;
use testkit::{PUBLISH_KEY, Server};

use crate::support::titles::update;
use crate::support::wait_until;

/// Returns the whole lines of a file; none if there is no file.
fn text(log: &Path) -> String {
    let mut text = std::fs::read_to_string(log).unwrap_or_default();
    text.truncate(text.rfind('\n').map_or(0, |last| last + 1));
    text
}

/// Returns the lines of a kind.
pub(crate) fn lines(log: &Path, kind: &str) -> Vec<Value> {
    let text = text(log);
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == kind).collect()
}

pub(crate) fn titles(line: &Value) -> Vec<&str> {
    let titles = line["titles"].as_array().unwrap().iter();
    titles
        .map(|title| title["title"].as_str().unwrap())
        .collect()
}

pub(crate) fn set_title(server: &Server, title: &str) {
    let set = || update(server.addr("http"), PUBLISH_KEY, &format!("song={title}")) == 200;
    wait_until("a title to be taken", set);
}
