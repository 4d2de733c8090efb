//! WebRTC viewer of another make: aiortc, in Python.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::http::Response;
use testkit::{Server, aiortc};

use crate::support::{post_offer, script};

/// Number of packets to watch: more than remain before the sequence numbers of either track wrap.
pub(crate) const FRAMES: u64 = 320;

/// Viewer in Python, killed when dropped.
pub(crate) struct Viewer {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Viewer {
    pub(crate) fn start() -> Self {
        Self::of(FRAMES)
    }

    /// Starts a viewer that leaves when it has decoded this many frames of either track.
    pub(crate) fn of(frames: u64) -> Self {
        Self::of_kinds(frames, &[])
    }

    /// Starts a viewer that offers both kinds, and leaves when it has decoded this many audio frames.
    pub(crate) fn of_audio(frames: u64) -> Self {
        Self::of_kinds(frames, &["audio"])
    }

    fn of_kinds(frames: u64, kinds: &[&str]) -> Self {
        let mut child = Command::new(aiortc())
            .arg(script("aiortc_viewer.py"))
            .arg(frames.to_string())
            .args(kinds)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    pub(crate) fn read(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn write(&mut self, value: &Value) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{value}").unwrap();
    }

    /// Watches at an address of WHEP; returns the reply.
    pub(crate) fn agree(&mut self, server: &Server, path: &str) -> Response {
        let offer = self.read();
        let answer = post_offer(server, path, "", offer.as_str().unwrap());
        assert_eq!(answer.status, 201, "{}", answer.text());
        self.write(&answer.text().into());
        answer
    }

    /// Watches at an address of WHEP; returns the session's address.
    pub(crate) fn watch(&mut self, server: &Server, path: &str) -> String {
        let answer = self.agree(server, path);
        answer.header("location").unwrap().to_owned()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
