//! Standard error is a pipe without a reader, or a full disk: the server still serves all clients, and ends when signalled.
//! Peers cannot fill a disk with log lines either.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use testkit::{Clip, PUBLISH_KEY, Server, ServerBuilder};

use crate::support::{DEADLINE, connect, metric, repeat_icecast, repeat_to, wait_until};

/// Largest number of sources with a wrong key: several times the lines that a pipe and the server's own queue hold.
const REFUSALS_MAX: usize = 30_000;

/// Timeout of a container's probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// Named pipe, which the server itself holds open.
struct Pipe {
    folder: tempfile::TempDir,
}

impl Pipe {
    fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Self { folder };
        let status = Command::new("mkfifo").arg(made.path()).status();
        assert!(status.unwrap().success());
        made
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("stderr")
    }

    /// Starts to read the pipe; returns the bytes read so far.
    fn read(&self) -> Arc<Mutex<Vec<u8>>> {
        // The pipe is open for writing as well, so that it does not end with the server.
        let mut pipe = File::options()
            .read(true)
            .write(true)
            .open(self.path())
            .unwrap();
        let text = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&text);
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                read.lock().unwrap().extend_from_slice(&buffer[..length]);
            }
        });
        text
    }
}

/// Builds a server that logs many lines, without a limit of attempts that would shorten them.
fn talkative(pipe: &Pipe) -> ServerBuilder {
    Server::builder()
        .set("log", "level", "\"debug\"")
        .log_to(&pipe.path())
}

/// Connects one source with a wrong key, which the server refuses.
fn refused(server: &Server) {
    let mut socket = connect(server.addr("http"));
    let head = "PUT /radio.mp3 HTTP/1.1\r\nHost: x\r\nAuthorization: Basic c291cmNlOndyb25nLWtleQ==\r\n\
                Content-Type: audio/mpeg\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // The connection may be reset because the server closes it with unread bytes of ours.
    let _reset = socket.read_to_end(&mut answer);
}

fn lost(server: &Server) -> f64 {
    metric(server, "carillon_log_lines_lost_total", "log=messages")
}

/// Connects sources that are refused, several at a time, until log lines are lost.
fn refuse_until_lines_are_lost(server: &Server) {
    let mut refusals = 0;
    while lost(server) == 0.0 {
        assert!(refusals < REFUSALS_MAX, "no line is lost");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..250).for_each(|_| refused(server)));
            }
        });
        refusals += 1_000;
    }
}

/// Asserts that present listeners continue, new ones are served, and the probe is answered.
fn assert_serves(server: &Server, present: &mut testkit::http::Listener) {
    let length = present.body().len();
    present.read_bytes(length + 40_000, DEADLINE);
    let mut joiner = server.listen("/radio.mp3");
    assert_eq!(joiner.status(), 200);
    joiner.read_bytes(20_000, DEADLINE);
    let alive = testkit::http::get(server.addr("admin"), "/livez", PROBE_TIMEOUT);
    assert_eq!(alive.status, 200);
    assert!(server.get("/").text().contains("<html"));
}

#[test]
fn when_standard_error_is_a_pipe_without_a_reader() {
    let pipe = Pipe::make();
    let mut server = talkative(&pipe).start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let mut present = server.listen("/radio.mp3");
    refuse_until_lines_are_lost(&server);
    assert_serves(&server, &mut present);
    drop(present);
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
}

#[test]
fn when_the_pipe_is_read_again_it_tells_what_is_missing() {
    let pipe = Pipe::make();
    let mut server = talkative(&pipe).start();
    refuse_until_lines_are_lost(&server);
    let text = pipe.read();
    let holds = |words: &str| String::from_utf8_lossy(&text.lock().unwrap()).contains(words);
    wait_until("the log to tell of its loss", || {
        holds("lines of a log are lost")
    });
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
    wait_until("the last line", || holds("ended"));
}

#[test]
fn when_standard_error_is_a_full_disk() {
    let mut server = Server::builder().log_to("/dev/full".as_ref()).start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let mut present = server.listen("/radio.mp3");
    for _ in 0..20 {
        refused(&server);
    }
    wait_until("lines to be lost", || lost(&server) >= 20.0);
    assert_serves(&server, &mut present);
    drop(present);
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
}

#[test]
fn when_the_access_log_is_on_a_full_disk() {
    let mut server = Server::builder()
        .set("log", "access", "\"/dev/full\"")
        .start();
    for _ in 0..50 {
        refused(&server);
    }
    wait_until("lines to be lost", || {
        let lost = ["log=\"access\""];
        server.metrics().sum("carillon_log_lines_lost_total", &lost) >= 50.0
    });
    server.wait_for_log("a log cannot be written", DEADLINE);
    assert_eq!(server.log().matches("a log cannot be written").count(), 1);
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
}

/// The log has a line for each of the first refusals, and then their number.
#[test]
fn a_flood_of_refusals_is_few_lines() {
    const REFUSALS: usize = 1_000;
    const LINES_MAX: usize = 300;
    let mut server = Server::start();
    (0..REFUSALS).for_each(|_| refused(&server));
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
    let log = server.log();
    let reported = log.matches(": source refused").count();
    assert!((20..LINES_MAX).contains(&reported), "{reported}");
    let summed: usize = log
        .lines()
        .filter(|line| line.contains("more like this: source refused"))
        .map(|line| {
            let count = line.split("and ").nth(1).unwrap();
            count.split(' ').next().unwrap().parse::<usize>().unwrap()
        })
        .sum();
    let sums = log.matches("more like this: source refused").count();
    assert_eq!(reported - sums + summed, REFUSALS);
}

/// The test kit searches every server's log for secrets; this server has a stream whose name is its key.
#[test]
#[should_panic(expected = "a secret is in the log")]
fn no_secret_would_be_overlooked() {
    let server = Server::start();
    let name = format!("live/{PUBLISH_KEY}");
    let url = server.rtmp_url(&name, PUBLISH_KEY);
    let _show = repeat_to(&url, Clip::Flv);
    server.wait_for_log("publishing begins", DEADLINE);
}
