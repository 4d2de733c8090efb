//! A thousand viewers wait for the next part of a publisher that has paused: their requests cost the server next to nothing,
//! and all receive a reply when the part arrives. `cargo xtask bench hls-blocked` measures it.

use std::time::{Duration, Instant};

use testkit::hls::{BlockedReloads, Watch, reload_at_rest};
use testkit::{Clip, Server, Signal, need_descriptors};

use crate::support::{metric, publish_rtmp, wait_until};

const RELOADS: usize = 1_000;
/// Time for which the server must be quiet, before it gives up on the requests after 18 s.
const QUIET: Duration = Duration::from_secs(3);
const QUIET_DEADLINE: Duration = Duration::from_secs(12);
/// CPU in that time, as a share of a core. If each request polled for its part instead of being woken, the cost would be ten
/// times as much.
const SHARE_MAX: f64 = 0.1;
/// Bytes by which resident memory may grow in that time.
const GROWTH_MAX: u64 = 8 << 20;

#[test]
fn waiting_costs_nothing_and_ends_with_the_part() {
    need_descriptors(2 * RELOADS as u64 + 500);
    let server = Server::builder()
        .set("ingest", "linger", "\"120s\"")
        .set("ingest", "source_timeout", "\"120s\"")
        .start();
    let publisher = publish_rtmp(&server, &Clip::Flv.seconds(120), "live/show");
    let addr = server.addr("http");
    let playlist = Watch::start(addr, "/live/show/index.m3u8")
        .finish()
        .playlist;
    publisher.signal(Signal::STOP);
    let path = reload_at_rest(addr, &playlist);
    let waiting = BlockedReloads::begin(addr, &path, RELOADS);
    wait_until("all requests to be accepted", || {
        metric(&server, "carillon_connections", "door=http") >= RELOADS as f64
    });
    let resident = server.resident_bytes();
    // On a busy machine, accepting the connections may take a while longer.
    testkit::wait_until("the server to be quiet", QUIET_DEADLINE, || {
        let (began, used) = (Instant::now(), server.cpu_time());
        assert!(!waiting.is_answered_within(QUIET), "nothing has come");
        let used = server.cpu_time().saturating_sub(used);
        used.as_secs_f64() < SHARE_MAX * began.elapsed().as_secs_f64()
    });
    let growth = server.resident_bytes().saturating_sub(resident);
    assert!(growth < GROWTH_MAX, "{growth} bytes");
    publisher.signal(Signal::CONT);
    let answered = waiting.finish();
    assert_eq!(answered.good, RELOADS, "{answered:?}");
}
