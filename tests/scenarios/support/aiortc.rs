//! A WebRTC viewer of another make: aiortc, in Python.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::{Server, aiortc, http};

use crate::support::DEADLINE;

/// More packets than are left before the sequence numbers of either track wrap.
pub(crate) const FRAMES: u64 = 320;

/// The viewer in Python, killed when dropped.
pub(crate) struct Viewer {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Viewer {
    pub(crate) fn start() -> Self {
        Self::of(FRAMES)
    }

    /// One that leaves when it has decoded so many frames of either track.
    pub(crate) fn of(frames: u64) -> Self {
        Self::of_kinds(frames, &[])
    }

    /// One that offers both, and leaves when it has decoded so many frames of sound.
    pub(crate) fn of_sound(frames: u64) -> Self {
        Self::of_kinds(frames, &["audio"])
    }

    fn of_kinds(frames: u64, kinds: &[&str]) -> Self {
        let mut child = Command::new(aiortc())
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/scenarios/support/aiortc_viewer.py"
            ))
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

    pub(crate) fn write(&mut self, value: &Value) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{value}").unwrap();
    }

    /// Watches at an address of WHEP. Returns that of the session.
    pub(crate) fn watch(&mut self, server: &Server, path: &str) -> String {
        let offer = self.read();
        let offer = offer.as_str().unwrap();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: carillon\r\nConnection: close\r\n\
             Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{offer}",
            offer.len()
        );
        let answer = http::request(server.addr("http"), request.as_bytes(), DEADLINE);
        let location = answer.headers.iter().find(|(name, _)| name == "location");
        let location = location.map(|(_, value)| value.clone());
        let sdp = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, 201, "{sdp}");
        self.write(&sdp.into());
        location.unwrap()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
