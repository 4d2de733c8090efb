//! A publisher may vanish and come back, even while its old connection still hangs: no listener is disconnected, and time never
//! steps back.

use testkit::{Clip, Server, Signal, framemd5};

use crate::support::flv;
use crate::support::{DEADLINE, file, repeat_icecast, repeat_rtmp, wait_until};

fn assert_monotonic(body: &[u8]) {
    for kind in [8, 9] {
        let times = flv::times(body, kind);
        assert!(times.len() > 10, "{} tags of kind {kind}", times.len());
        assert!(
            times.is_sorted(),
            "time of tags {kind} steps back: {times:?}"
        );
    }
}

#[test]
fn killed_and_replaced_over_rtmp() {
    let server = Server::start();
    let mut first = repeat_rtmp(&server, Clip::Flv, "live/show");
    let mut listener = server.listen("/live/show.flv");
    listener.read_bytes(100_000, DEADLINE);
    first.kill();
    wait_until("the publisher to be missed", || {
        server.metrics().sum("carillon_publishers", &[]) == 0.0
    });
    let before = listener.body().len();
    let _second = repeat_rtmp(&server, Clip::Flv, "live/show");
    listener.read_bytes(before + 300_000, DEADLINE);
    assert!(!listener.ended());
    assert_monotonic(listener.body());
    let frames = framemd5::decoded(file(&flv::whole_tags(listener.body())).path());
    assert!(framemd5::is_monotonic(&frames));
}

#[test]
fn a_frozen_publisher_is_replaced_at_once() {
    let server = Server::start();
    let frozen = repeat_rtmp(&server, Clip::Flv, "live/show");
    let mut listener = server.listen("/live/show.flv");
    listener.read_bytes(50_000, DEADLINE);
    // The connection stays open and silent, as after a broken network.
    frozen.signal(Signal::STOP);
    let mut second = repeat_rtmp(&server, Clip::Flv, "live/show");
    let before = listener.body().len();
    listener.read_bytes(before + 200_000, DEADLINE);
    assert!(second.is_running(), "{}", second.stderr());
    assert_monotonic(listener.body());
    // The replaced publisher notices its replacement when it wakes up.
    frozen.signal(Signal::CONT);
    let mut frozen = frozen;
    frozen.wait(DEADLINE);
    assert!(second.is_running());
}

#[test]
fn a_radio_source_is_replaced_while_its_connection_hangs() {
    let server = Server::start();
    let frozen = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let mut listener = server.listen("/radio.mp3");
    listener.read_bytes(40_000, DEADLINE);
    frozen.signal(Signal::STOP);
    let mut second = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let before = listener.body().len();
    listener.read_bytes(before + 50_000, DEADLINE);
    assert!(second.is_running(), "{}", second.stderr());
    assert!(!listener.ended());
    // Every byte is part of a whole frame: the two publishers join between frames.
    let length = listener.body().len();
    let frames = framemd5::decoded(file(&listener.body()[..length - length % 417]).path());
    assert!(frames.len() > 150, "{}", frames.len());
}

#[test]
fn listeners_are_let_go_when_no_publisher_comes_back() {
    let server = Server::builder().set("ingest", "linger", "\"2s\"").start();
    let mut publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let mut listener = server.listen("/radio.mp3");
    listener.read_bytes(10_000, DEADLINE);
    publisher.kill();
    listener.read_to_end(DEADLINE);
    assert!(listener.ended());
    wait_until("the stream to be gone", || {
        server.get("/radio.mp3").status == 404
    });
}
