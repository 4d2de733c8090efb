//! The server under test: the real binary on ephemeral ports with a generated configuration.
//!
//! The binary prints `listening <protocol> <address>` per listening socket and then `ready`, one line each, to standard output;
//! nothing else is assumed about its output.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::http::{Listener, Response};
use crate::{
    Metrics, Process, Signal, http, proc, target_dir, temp_folder, wait_until, write_file,
};

/// Key that every test server demands of publishers, unless the test sets another.
pub const PUBLISH_KEY: &str = "testkit-publish-key";

/// Operator's password of servers that [have one](ServerBuilder::with_admin_password).
pub const ADMIN_PASSWORD: &str = "tower-warden-77";

/// The user `admin` and that password as a Basic credential.
const ADMIN_CREDENTIAL: &str = "YWRtaW46dG93ZXItd2FyZGVuLTc3";

/// Time limit from the start to `ready`, on a loaded machine.
const READY_DEADLINE: Duration = crate::DEADLINE;
/// Time limit for one short request to the operator's port.
const REQUEST_DEADLINE: Duration = crate::DEADLINE;

/// A server that is about to be started.
#[must_use]
#[derive(Debug, Default)]
pub struct ServerBuilder {
    tables: BTreeMap<String, BTreeMap<String, String>>,
    fragment: String,
    verbatim: Option<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    build: Option<PathBuf>,
    descriptors: Option<u32>,
    log: Option<PathBuf>,
    has_password: bool,
}

impl ServerBuilder {
    /// Demands [`ADMIN_PASSWORD`] of the operator; [`Server::admin_get`] sends it.
    pub fn with_admin_password(mut self) -> Self {
        self.has_password = true;
        self.set("auth", "admin_password", &format!("{ADMIN_PASSWORD:?}"))
    }

    /// Sets one key of the configuration; `value` is TOML: `set("fanout.audio", "max_samples", "4")`,
    /// `set("auth", "publish_key", "\"other\"")`.
    pub fn set(mut self, table: &str, key: &str, value: &str) -> Self {
        self.tables
            .entry(table.to_owned())
            .or_default()
            .insert(key.to_owned(), value.to_owned());
        self
    }

    /// Appends text to the configuration, for anything but a plain key: `[[stream]]` tables.
    pub fn toml(mut self, fragment: &str) -> Self {
        self.fragment.push_str(fragment);
        self.fragment.push('\n');
        self
    }

    /// Uses this text as the whole configuration. If [`env`](Self::env) sets ports, they take precedence.
    pub fn verbatim(mut self, toml: &str) -> Self {
        self.verbatim = Some(toml.to_owned());
        self
    }

    /// Adds an argument after `serve --config FILE`.
    pub fn arg(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Uses the release build, whatever the environment names: for measuring.
    pub fn release(self) -> Self {
        self.build(&release())
    }

    /// Uses this binary, whatever the environment names: for comparing two builds.
    pub fn build(mut self, binary: &Path) -> Self {
        self.build = Some(binary.to_owned());
        self
    }

    /// Limits the server to this many descriptors, by `prlimit`.
    pub fn descriptors(mut self, max: u32) -> Self {
        self.descriptors = Some(max);
        self
    }

    /// Sends the server's standard error to a file, a device or a named pipe instead of to [`log`](Server::log). It is opened
    /// for reading as well, so that such a pipe needs no other end.
    pub fn log_to(mut self, path: &Path) -> Self {
        self.log = Some(path.to_owned());
        self
    }

    /// Starts the server and waits until it is ready.
    ///
    /// # Panics
    /// Panics if the binary is not built, ends early, or is not ready in time.
    #[must_use]
    pub fn start(self) -> Server {
        let folder = temp_folder();
        let config = write_file(folder.path(), "carillon.toml", &self.render());
        let binary = self.build.clone().unwrap_or_else(binary);
        // Wrappers become the server by `exec`, so that the process is still our child.
        let mut words: Vec<OsString> = Vec::new();
        if let Some(path) = self.log {
            let script = "log=$1; shift; exec \"$@\" 2<>\"$log\"";
            words.extend(["sh", "-c", script, "sh"].map(OsString::from));
            words.push(path.into());
        }
        if let Some(max) = self.descriptors {
            crate::require("prlimit");
            words.extend(["prlimit".into(), format!("--nofile={max}:{max}").into()]);
        }
        words.push(binary.into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
            .arg("serve")
            .arg("--config")
            .arg(&config)
            .args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(std::process::Stdio::null());
        let mut process = Process::start("carillon", &mut command);
        let mut said = String::new();
        wait_until("carillon to be ready", READY_DEADLINE, || {
            said = String::from_utf8_lossy(&process.stdout()).into_owned();
            let ready = said.lines().any(|line| line == "ready");
            assert!(
                ready || process.is_running(),
                "carillon ended before it was ready"
            );
            ready
        });
        Server {
            listeners: listeners(&said),
            process,
            has_password: self.has_password,
            _folder: folder,
        }
    }

    fn render(&self) -> String {
        if let Some(toml) = &self.verbatim {
            return toml.clone();
        }
        let mut tables = self.tables.clone();
        for (table, key, value) in [
            ("rtmp", "listen", "[\"127.0.0.1:0\"]".to_owned()),
            ("http", "listen", "[\"127.0.0.1:0\"]".to_owned()),
            ("webrtc", "listen", "\"127.0.0.1:0\"".to_owned()),
            ("admin", "listen", "\"127.0.0.1:0\"".to_owned()),
            ("auth", "publish_key", format!("\"{PUBLISH_KEY}\"")),
        ] {
            tables
                .entry(table.to_owned())
                .or_default()
                .entry(key.to_owned())
                .or_insert(value);
        }
        let mut text = String::new();
        for (table, keys) in &tables {
            text.push_str(&format!("[{table}]\n"));
            for (key, value) in keys {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
        text + &self.fragment
    }
}

/// A running server. Dropping it kills it; if the test is panicking, its output is printed.
#[derive(Debug)]
pub struct Server {
    process: Process,
    listeners: Vec<(String, SocketAddr)>,
    has_password: bool,
    /// Holds the configuration file.
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts with the default configuration on ephemeral ports.
    #[must_use]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Returns a builder, for changing the configuration first.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// Returns the address of the first listener for `protocol`: `rtmp`, `http`, `https`, `webrtc`, `admin`.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn addr(&self, protocol: &str) -> SocketAddr {
        self.listeners
            .iter()
            .find(|(name, _)| name == protocol)
            .unwrap_or_else(|| panic!("no `{protocol}` listener in {:?}", self.listeners))
            .1
    }

    /// Returns the address at which to publish or play a stream over RTMP.
    pub fn rtmp_url(&self, stream: &str, key: &str) -> String {
        format!("rtmp://{}/{stream}?key={key}", self.addr("rtmp"))
    }

    /// Returns the address at which to publish a stream as an Icecast source, in ffmpeg's notation.
    pub fn icecast_url(&self, stream: &str, key: &str) -> String {
        format!("icecast://source:{key}@{}/{stream}", self.addr("http"))
    }

    /// Returns the address at which a player listens.
    pub fn http_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr("http"))
    }

    /// Begins to listen to `path` on the public port.
    #[must_use]
    pub fn listen(&self, path: &str) -> Listener {
        Listener::get(self.addr("http"), path)
    }

    /// Fetches a whole response from the public port.
    pub fn get(&self, path: &str) -> Response {
        http::get(self.addr("http"), path, REQUEST_DEADLINE)
    }

    /// Fetches a whole response from the operator's port.
    pub fn admin_get(&self, path: &str) -> Response {
        let addr = self.addr("admin");
        if !self.has_password {
            return http::get(addr, path, REQUEST_DEADLINE);
        }
        get_as_admin(addr, path)
    }

    /// Fetches a whole response from the public port, as the operator of a server that [has a
    /// password](ServerBuilder::with_admin_password).
    pub fn operator_get(&self, path: &str) -> Response {
        get_as_admin(self.addr("http"), path)
    }

    /// Returns the current metrics.
    ///
    /// # Panics
    /// Panics if the page is not answered with 200.
    pub fn metrics(&self) -> Metrics {
        let response = self.admin_get("/metrics");
        assert_eq!(response.status, 200, "/metrics");
        Metrics::parse(&response.text())
    }

    /// Returns a JSON document from the operator's port, by its path below `/api/v1/`.
    ///
    /// # Panics
    /// Panics if the reply is not 200 with JSON.
    pub fn api(&self, path: &str) -> serde_json::Value {
        let response = self.admin_get(&format!("/api/v1/{path}"));
        assert_eq!(response.status, 200, "/api/v1/{path}: {}", response.text());
        serde_json::from_slice(&response.body)
            .unwrap_or_else(|error| panic!("/api/v1/{path}: {error}: {}", response.text()))
    }

    /// Waits until the log has a line that contains `text`.
    pub fn wait_for_log(&self, text: &str, deadline: Duration) {
        wait_until(&format!("`{text}` in the log"), deadline, || {
            self.log().contains(text)
        });
    }

    /// Returns the last lines of the log (standard error, then standard output).
    pub fn log(&self) -> String {
        format!(
            "{}\n{}",
            self.process.stderr(),
            String::from_utf8_lossy(&self.process.stdout())
        )
    }

    /// Returns the resident memory in bytes.
    pub fn resident_bytes(&self) -> u64 {
        proc::resident_bytes(self.process.pid())
    }

    /// Returns the processor time used so far, in user space and the kernel.
    pub fn cpu_time(&self) -> Duration {
        proc::cpu_time(self.process.pid())
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the process, for signals.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Sends SIGTERM and waits for the server's end.
    ///
    /// # Panics
    /// Panics if the server still runs after `deadline`.
    pub fn terminate(&mut self, deadline: Duration) -> ExitStatus {
        self.process.signal(Signal::TERM);
        self.process.wait(deadline)
    }
}

fn get_as_admin(addr: SocketAddr, path: &str) -> Response {
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Basic {ADMIN_CREDENTIAL}\r\n\
         Connection: close\r\n\r\n"
    );
    http::request(addr, head.as_bytes(), REQUEST_DEADLINE)
}

/// Checks the log of every server of every test: no line may contain a secret.
impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let log = self.log();
        for secret in [PUBLISH_KEY, ADMIN_PASSWORD, ADMIN_CREDENTIAL] {
            let line = log.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "a secret is in the log");
        }
    }
}

/// Makes the release build of the server, which is used for measurements.
///
/// # Panics
/// Panics if it does not build.
pub fn build_release() {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "-p", "carillon-server"])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the server does not build"
    );
}

fn release() -> PathBuf {
    let path = target_dir().join("release/carillon");
    assert!(
        path.is_file(),
        "no release build: run `cargo build --release`"
    );
    path
}

/// Returns the binary named by `CARILLON_BIN`, else the dev or release build in the target directory.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("CARILLON_BIN") {
        let path = PathBuf::from(path);
        assert!(
            path.is_file(),
            "CARILLON_BIN names {}, which is no file",
            path.display()
        );
        return path;
    }
    let built = ["debug/carillon", "release/carillon"].map(|path| target_dir().join(path));
    built
        .into_iter()
        .find(|path| path.is_file())
        .unwrap_or_else(|| {
            panic!("no `carillon` binary: run `cargo build`, or name one in CARILLON_BIN")
        })
}

fn listeners(said: &str) -> Vec<(String, SocketAddr)> {
    said.lines()
        .filter_map(|line| line.strip_prefix("listening "))
        .filter_map(|rest| {
            let (protocol, address) = rest.split_once(' ')?;
            Some((protocol.to_owned(), address.trim().parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_holds_defaults_and_changes() {
        let text = Server::builder()
            .set("fanout.audio", "max_samples", "4")
            .set("auth", "publish_key", "\"other\"")
            .toml("[[stream]]\nmatch = \"live/*\"")
            .render();
        assert!(text.contains("[fanout.audio]\nmax_samples = 4\n"), "{text}");
        assert!(
            text.contains("publish_key = \"other\"") && !text.contains(PUBLISH_KEY),
            "{text}"
        );
        assert!(
            text.contains("[rtmp]\nlisten = [\"127.0.0.1:0\"]"),
            "{text}"
        );
        assert!(text.ends_with("[[stream]]\nmatch = \"live/*\"\n"), "{text}");
    }

    #[test]
    fn listener_lines_are_read() {
        let said = "listening rtmp 127.0.0.1:41234\nwelcome\nlistening admin 127.0.0.1:9\nready\n";
        let found = listeners(said);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            ("rtmp".to_owned(), SocketAddr::from(([127, 0, 0, 1], 41234)))
        );
    }
}
