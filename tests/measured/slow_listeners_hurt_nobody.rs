//! One listener of a hundred stops reading. The others notice nothing, and it is dropped with a
//! reason.

use std::thread;
use std::time::{Duration, Instant};

use testkit::http::Listener;
use testkit::{Clip, Server, wait_until};

use crate::support::{DEADLINE, publish_rtmp, wait_for_stream};

/// The longest window of a video lane: `fanout.video.max_wait`.
const WINDOW: Duration = Duration::from_millis(100);
/// What scheduling may add to it.
const SLACK: Duration = Duration::from_millis(50);

#[test]
fn one_of_a_hundred_stops_reading() {
    let server = Server::builder()
        .set("fanout.video", "skip_after", "\"1s\"")
        .set("fanout.video", "drop_after", "\"4s\"")
        .start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    wait_for_stream(&server, "live/show");
    let memory_before = server.resident_bytes();
    // A small receive buffer makes the socket fill as fast as a phone's on a bad network.
    let stalled = server.listen("/live/show.flv");
    shrink(&stalled);
    let mut listeners: Vec<Listener> = (0..99).map(|_| server.listen("/live/show.flv")).collect();
    let begin = Instant::now();
    let gaps = thread::scope(|scope| {
        let readers: Vec<_> = listeners
            .iter_mut()
            .map(|listener| {
                scope.spawn(move || {
                    listener.read_for(Duration::from_secs(12));
                    // What came before this moment is the burst.
                    listener.longest_gap(begin + Duration::from_secs(1))
                })
            })
            .collect();
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .collect::<Vec<_>>()
    });
    let longest = gaps.iter().max().unwrap();
    assert!(*longest <= WINDOW + SLACK, "a gap of {longest:?}");
    assert!(listeners.iter().all(|listener| !listener.ended()));

    wait_until("the stalled one to be dropped", DEADLINE, || {
        let metrics = server.metrics();
        metrics.sum("carillon_drops_total", &["reason=\"lag\""]) >= 1.0
    });
    server.wait_for_log("lag", DEADLINE);
    let grown = server.resident_bytes().saturating_sub(memory_before);
    assert!(grown < 32 << 20, "{grown} bytes for 100 listeners");
}

/// Makes the kernel take little on the stalled listener's behalf.
fn shrink(listener: &Listener) {
    socket2::SockRef::from(listener.socket())
        .set_recv_buffer_size(4_096)
        .unwrap();
}
