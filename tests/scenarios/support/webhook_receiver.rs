//! Receiver of webhooks, which verifies them by the specification's own library, and a server that sends them to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{Process, Server, ServerBuilder, webhooks};

use crate::support::recorded::recording_into;
use crate::support::{metric, quoted, script, wait_until};

pub(crate) const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Receiver, killed when dropped.
pub(crate) struct Receiver {
    process: Process,
    pub(crate) port: u16,
}

impl Receiver {
    /// Starts a receiver at any port.
    pub(crate) fn start() -> Self {
        Self::at(0)
    }

    pub(crate) fn at(port: u16) -> Self {
        let mut command = Command::new(webhooks());
        command
            .arg(script("webhook_receiver.py"))
            .args([&port.to_string(), KEY]);
        let process = Process::start("the receiver", &mut command);
        let first = || String::from_utf8(process.stdout()).unwrap();
        wait_until("the receiver's port", || first().contains('\n'));
        let port = first().lines().next().unwrap().parse().unwrap();
        Self { process, port }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the requests received so far.
    pub(crate) fn reported(&self) -> Vec<Value> {
        let text = String::from_utf8(self.process.stdout()).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().skip(1);
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns the requests to a path about this kind.
    pub(crate) fn of(&self, path: &str, kind: &str) -> Vec<Value> {
        let mut reported = self.reported();
        reported.retain(|one| one["path"] == path && one["message"]["type"] == kind);
        reported
    }

    /// Asserts that the events of each stream arrived in order, and that nothing is missing in between.
    pub(crate) fn is_in_order(&self) {
        let mut last = BTreeMap::<String, u64>::new();
        for one in self.reported() {
            let message = &one["message"];
            let stream = message["data"]["stream"].to_string();
            let sequence = message["sequence"].as_u64().expect("a number");
            if let Some(before) = last.insert(stream, sequence) {
                assert_eq!(sequence, before + 1, "{one}");
            }
        }
    }

    /// Waits for this many requests to a path about this kind.
    pub(crate) fn wait_for(&self, path: &str, kind: &str, count: usize) -> Vec<Value> {
        wait_until(&format!("{count} × {kind} at {path}"), || {
            self.of(path, kind).len() >= count
        });
        self.of(path, kind)
    }
}

pub(crate) const STREAM: &str = "live/show";

const OTHER_KEY: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Builds a server that records, and persists the messages that it has to send.
pub(crate) fn server(root: &Path) -> ServerBuilder {
    recording_into(&root.join("recordings"))
        .set("webhooks", "directory", &quoted(&root.join("state")))
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n")
}

pub(crate) fn webhook(url: &str, rest: &str) -> String {
    format!("[[webhook]]\nurl = \"{url}\"\nsecret = [\"{OTHER_KEY}\", \"{KEY}\"]\n{rest}\n")
}

pub(crate) fn outcomes(server: &Server, result: &str) -> f64 {
    metric(
        server,
        "carillon_webhooks_total",
        &format!("result={result}"),
    )
}

pub(crate) fn queued(server: &Server) -> f64 {
    server.metrics().sum("carillon_webhook_queue", &[])
}
