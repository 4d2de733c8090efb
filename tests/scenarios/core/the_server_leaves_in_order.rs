//! On SIGTERM the server accepts no new clients, gives those present a bounded time, and exits with status 0.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use testkit::{Clip, Server, Signal};

use crate::support::{DEADLINE, repeat_icecast, wait_until};

#[test]
fn at_once_without_listeners() {
    // The setting is longer than the deadline, in case the server waits for it.
    let mut server = Server::builder()
        .env("CARILLON__DRAIN_TIMEOUT", "5m")
        .start();
    let status = server.terminate(DEADLINE);
    assert_eq!(status.code(), Some(0));
}

#[test]
fn listeners_get_the_drain_time() {
    let mut server = Server::builder()
        .env("CARILLON__DRAIN_TIMEOUT", "3s")
        .start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let mut listener = server.listen("/radio.mp3");
    listener.read_bytes(10_000, DEADLINE);
    let (http, admin) = (server.addr("http"), server.addr("admin"));
    server.process().signal(Signal::TERM);
    let begun = Instant::now();
    wait_until("the door to close", || TcpStream::connect(http).is_err());
    assert_eq!(testkit::http::get(admin, "/readyz", DEADLINE).status, 503);
    let length = listener.body().len();
    listener.read_bytes(length + 10_000, DEADLINE);
    listener.read_to_end(DEADLINE);
    assert!(
        begun.elapsed() >= Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(server.process().wait(DEADLINE).code(), Some(0));
}
