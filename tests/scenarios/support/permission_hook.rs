//! A server that is asked for permissions, in the dialects of several servers.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use testkit::{Process, Server, Tool, wait_until, webhooks};

use crate::support::DEADLINE;

/// What the hook permits, and something else.
pub(crate) const KNOWN: &str = "letmein-42";
pub(crate) const UNKNOWN: &str = "let-me-in-24";

/// A hook, killed when dropped.
pub(crate) struct Hook {
    process: Process,
    port: u16,
}

impl Hook {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(webhooks());
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/scenarios/support/permission_hook.py"
        );
        command.args([script, "0"]);
        let process = Process::start("the hook", &mut command);
        let said = || String::from_utf8(process.stdout()).unwrap();
        wait_until("the hook's port", DEADLINE, || said().contains('\n'));
        let port = said().lines().next().unwrap().parse().unwrap();
        Self { process, port }
    }

    /// Its address with this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// A server that asks it at this path; `keys` are more of `[auth.hook]`.
    pub(crate) fn serve(&self, path: &str, keys: &str) -> Server {
        let url = self.url(path);
        Server::builder()
            .set("ingest", "linger", "\"0s\"")
            .toml(&format!("[auth.hook]\nurl = \"{url}\"\n{keys}"))
            .start()
    }

    /// It does not permit what goes on any more.
    pub(crate) fn revoke(&self) {
        self.tell("revoke", "");
    }

    /// It permits whatever it is asked about by its path `until`, until so much later.
    pub(crate) fn permit_for(&self, time: Duration) {
        self.tell("permit", &time.as_secs_f64().to_string());
    }

    fn tell(&self, path: &str, what: &str) {
        let _ = Tool::new("curl")
            .args(["-sf", "-d", what, &self.url(path)])
            .run(DEADLINE);
    }

    /// The bodies of its requests.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.requests();
        requests.into_iter().map(|(_, body)| body).collect()
    }

    /// The paths and bodies of its requests.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        let text = String::from_utf8(self.process.stdout()).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let requests = whole.lines().skip(1).map(|line| {
            let told: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| told[name].as_str().unwrap().to_owned();
            (text("path"), text("body"))
        });
        requests.collect()
    }
}
