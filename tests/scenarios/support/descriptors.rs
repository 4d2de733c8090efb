//! Scenario of a server that runs out of file descriptors.

use testkit::http::Listener;
use testkit::{Clip, Server};

use crate::support::{DEADLINE, connect, find, repeat_icecast, wait_until};

/// Limit of file descriptors of a server that is to run out soon.
const DESCRIPTORS: u32 = 256;

/// Number of these descriptors that the server keeps in reserve.
const SPARED: usize = 32;

const PRESENT: usize = 20;

/// Asserts that a worker of this kind refuses new listeners in good time, and present listeners notice nothing.
pub(crate) fn before_descriptors_run_out(backend: &str) {
    let server = Server::builder()
        .set("fanout", "backend", &format!("\"{backend}\""))
        .set("http", "head_timeout", "\"60s\"")
        .descriptors(DESCRIPTORS)
        .start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let mut present: Vec<_> = (0..PRESENT).map(|_| server.listen("/radio.mp3")).collect();
    let count = |name: &str, label: &str| server.metrics().sum(name, &[label]);
    let refused = || count("carillon_rejected_total", "reason=\"pressure_descriptors\"");

    // The silent connections send nothing; more of them come until no listener can be accepted.
    let mut silent = Vec::new();
    let mut gone = 0;
    let turned_away = loop {
        for _ in 0..4 {
            silent.push(connect(server.addr("http")));
        }
        assert!(
            silent.len() < DESCRIPTORS as usize,
            "no listener was turned away"
        );
        // Connections are accepted in order: once this one has a reply, earlier ones are in.
        let joiner = server.listen("/radio.mp3");
        if joiner.status() != 200 {
            break joiner;
        }
        gone += 1;
    };
    assert_turned_away(turned_away);
    assert_eq!(refused(), 1.0);
    assert!(
        silent.len() > DESCRIPTORS as usize / 2,
        "too early: {}",
        silent.len()
    );
    // Connections that have left are counted as present until the server's next check, which may come at any
    // moment from here on. With io_uring those of listeners have left the process's table, too.
    let left = gone + if backend == "io_uring" { PRESENT } else { 0 };
    let listeners_max = DESCRIPTORS as usize - SPARED;
    let level = count("carillon_pressure", "kind=\"descriptors\"");
    let held = (level * listeners_max as f64).round() as usize;
    assert!(
        (listeners_max - left..=DESCRIPTORS as usize).contains(&held),
        "{held}"
    );

    // There are more of them than descriptors: they are closed, and nothing fails. As many as have left can be accepted.
    silent.extend((0..DESCRIPTORS).map(|_| connect(server.addr("http"))));
    wait_until("connections to be closed unread", || {
        refused() > f64::from(DESCRIPTORS) - (SPARED + left) as f64
    });
    let failures = server.metrics().sum("carillon_accept_failures_total", &[]);
    assert_eq!(failures, 0.0);

    // Present listeners receive every byte.
    for listener in &mut present {
        let length = listener.body().len();
        listener.read_bytes(length + 40_000, DEADLINE);
    }
    let (first, others) = present.split_at_mut(1);
    let first = &mut first[0];
    for listener in others {
        let at = find(first.body(), &listener.body()[..2_000]).expect("all hear the same");
        let length = listener.body().len();
        let heard = first.read_bytes(at + length, DEADLINE);
        assert!(heard[at..at + length] == *listener.body());
    }

    // Once the silent connections have closed, a listener can be accepted again.
    drop(silent);
    wait_until("room for a new listener", || {
        server.listen("/radio.mp3").status() == 200
    });
}

/// Asserts that the reply gives the reason, and the time to try again.
fn assert_turned_away(mut joiner: Listener) {
    assert_eq!(joiner.status(), 503);
    let seconds = joiner.header("Retry-After").map(str::parse::<u32>);
    assert!(matches!(seconds, Some(Ok(5..=15))), "{seconds:?}");
    let words = String::from_utf8_lossy(joiner.read_to_end(DEADLINE)).into_owned();
    assert!(words.contains("files and connections open"), "{words}");
}
