//! Server that decides about permissions, in the dialects of several servers.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use testkit::{Process, Server, Tool, webhooks};

use crate::support::{DEADLINE, script, wait_until};

/// Credential that the hook permits, and one that it does not.
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
        command.arg(script("permission_hook.py")).arg("0");
        let process = Process::start("the hook", &mut command);
        let said = || String::from_utf8(process.stdout()).unwrap();
        wait_until("the hook's port", || said().contains('\n'));
        let port = said().lines().next().unwrap().parse().unwrap();
        Self { process, port }
    }

    /// Returns the hook's address with this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Starts a server that sends its requests to the hook at this path; `keys` are further keys of `[auth.hook]`.
    pub(crate) fn serve(&self, path: &str, keys: &str) -> Server {
        let url = self.url(path);
        Server::builder()
            .set("ingest", "linger", "\"0s\"")
            .toml(&format!("[auth.hook]\nurl = \"{url}\"\n{keys}"))
            .start()
    }

    /// Makes the hook end the sessions that it has permitted.
    pub(crate) fn revoke(&self) {
        self.tell("revoke", "");
    }

    /// Makes the hook permit every request to its path `until`, until this much later.
    pub(crate) fn permit_for(&self, time: Duration) {
        self.tell("permit", &time.as_secs_f64().to_string());
    }

    fn tell(&self, path: &str, what: &str) {
        let _ = Tool::new("curl")
            .args(["-sf", "-d", what, &self.url(path)])
            .run(DEADLINE);
    }

    /// Returns the bodies of the hook's requests.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.requests();
        requests.into_iter().map(|(_, body)| body).collect()
    }

    /// Returns the paths and bodies of the hook's requests.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        let text = String::from_utf8(self.process.stdout()).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let requests = whole.lines().skip(1).map(|line| {
            let reported: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| reported[name].as_str().unwrap().to_owned();
            (text("path"), text("body"))
        });
        requests.collect()
    }
}
