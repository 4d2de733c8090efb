//! Configurations of other servers, imported, and a server that runs with them.

use std::path::{Path, PathBuf};

use testkit::{Server, Tool, binary};

use crate::support::DEADLINE;

pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/import/tests/samples")
}

/// Imports a file; returns the configuration, and the import's messages.
pub(crate) fn import(file: &Path) -> (String, String) {
    let finished = Tool::built(&binary())
        .arg("import")
        .arg(file)
        .finish(DEADLINE);
    assert!(
        finished.status.success(),
        "{}: {}",
        file.display(),
        finished.stderr
    );
    (String::from_utf8(finished.stdout).unwrap(), finished.stderr)
}

/// Starts a server with that configuration, on free ports.
pub(crate) fn serve(toml: &str) -> Server {
    let builder = Server::builder().verbatim(toml);
    let sections = ["RTMP", "HTTP", "WEBRTC", "ADMIN"];
    let names = sections.map(|section| format!("CARILLON__{section}__LISTEN"));
    let is_there = |table: &str, key: &str| {
        let of_table = toml.split(&format!("\n[{table}]\n")).nth(1);
        let of_table = of_table.and_then(|text| text.split("\n[").next());
        of_table.is_some_and(|text| text.lines().any(|line| line.starts_with(key)))
    };
    let others = [("shoutcast", "listen"), ("http", "tls_listen")];
    let others = others
        .into_iter()
        .filter(|(table, key)| is_there(table, key));
    let others = others.map(|(table, key)| format!("CARILLON__{table}__{key}").to_uppercase());
    names
        .into_iter()
        .chain(others)
        .fold(builder, |builder, name| builder.env(&name, "127.0.0.1:0"))
        .start()
}
