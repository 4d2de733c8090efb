//! A server that runs out of a resource refuses new listeners in good time, and present listeners notice nothing.

use testkit::{Clip, Server};

use crate::support::descriptors::before_descriptors_run_out;
use crate::support::{DEADLINE, repeat_icecast, wait_until};

#[test]
fn before_descriptors_run_out_with_epoll() {
    before_descriptors_run_out("epoll");
}

#[test]
fn before_the_uplink_is_full() {
    // The clip has 128 kbit/s: seven listeners fit in, and fewer in the second in which they receive the
    // burst.
    let server = Server::builder()
        .set("limits", "egress_mbps", "1")
        .set("fanout.audio", "burst", "\"0ms\"")
        .start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let sends = |server: &Server| server.metrics().sum("carillon_ingest_bytes_total", &[]);
    wait_until("some seconds of the stream", || sends(&server) > 48_000.0);
    let mut present = Vec::new();
    let turned_away = loop {
        assert!(present.len() < 50, "no listener was turned away");
        let joiner = server.listen("/radio.mp3");
        match joiner.status() {
            200 => present.push(joiner),
            _ => break joiner,
        }
    };
    assert_eq!(turned_away.status(), 503);
    assert!(turned_away.header("Retry-After").is_some());
    assert!((3..=9).contains(&present.len()), "{}", present.len());
    for listener in &mut present {
        let length = listener.body().len();
        listener.read_bytes(length + 16_000, DEADLINE);
    }
}
