//! One of a hundred listeners stops reading. The others notice nothing, and the slow one is dropped with a reason.

use std::time::Duration;

use testkit::http::Listener;
use testkit::{Audience, Clip, Server};

use crate::support::{DEADLINE, metric, publish_rtmp, wait_until};

/// Longest window of a video lane: `fanout.video.max_wait`.
const WINDOW: Duration = Duration::from_millis(100);
/// Time between two frames of the clip.
const PACE: Duration = Duration::from_millis(40);
/// Delay that scheduling may add to the window.
const SLACK: Duration = Duration::from_millis(50);

#[test]
fn one_of_a_hundred_stops_reading() {
    let server = Server::builder()
        .set("fanout.video", "skip_after", "\"1s\"")
        .set("fanout.video", "drop_after", "\"4s\"")
        .start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    let memory_before = server.resident_bytes();
    // A small receive buffer makes the socket fill as fast as a phone's on a bad network.
    let stalled = server.listen("/live/show.flv");
    shrink(&stalled);
    let audience = Audience::join(server.addr("http"), "/live/show.flv", 99);
    audience.control(PACE);
    let lagging = || metric(&server, "carillon_drops_total", "reason=lag") >= 1.0;
    // The burst comes first.
    wait_until("a second and more for each", || {
        audience.bytes() > 99 * 100_000
    });
    audience.watch();
    wait_until("the stalled one to be dropped", lagging);
    let before = audience.bytes();
    wait_until("more for each after that", || {
        audience.bytes() > before + 99 * 100_000
    });
    assert_eq!(audience.alive(), 99);
    let gaps = audience.longest_gaps();
    let longest = gaps.listeners.iter().max().unwrap();
    // A frame passes through three programs; the control's pieces pass through one.
    let busy = gaps.control.saturating_sub(PACE);
    assert!(
        *longest <= WINDOW + SLACK + 3 * busy,
        "a gap of {longest:?}; without a server one of {:?}",
        gaps.control
    );

    server.wait_for_log("lag", DEADLINE);
    let grown = server.resident_bytes().saturating_sub(memory_before);
    assert!(grown < 32 << 20, "{grown} bytes for 100 listeners");
}

/// Makes the kernel buffer little for the stalled listener.
fn shrink(listener: &Listener) {
    socket2::SockRef::from(listener.socket())
        .set_recv_buffer_size(4_096)
        .unwrap();
}
